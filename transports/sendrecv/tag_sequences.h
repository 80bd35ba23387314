// The next data tag of every NCCL tag that a communicator has seen.
#pragma once

#include <array>
#include <cstdint>

#include "weft/wire.h"

namespace weft::sendrecv {

/// Messages of one tag match their receives in the order they were posted, so both ends count per tag. NCCL's tags are
/// ranks that share a connection, at most those of one NVLink domain (72 on the largest today), hence a fixed table.
class TagSequences {
 public:
  static constexpr std::uint32_t kCapacity = 256;  ///< besides tag 0

  TagSequences() = default;
  TagSequences(const TagSequences&) = delete;
  TagSequences& operator=(const TagSequences&) = delete;

  /// `receiver`: the receiving communicator, which is part of every data tag. Call before anything else.
  void start(Key receiver) noexcept {
    receiver_ = receiver;
    zero_.next = data_tag(receiver, 0);
  }

  /// The data tag of the next message of `tag`, to be moved on by kNextInSequence once that is posted; nullptr when
  /// there is no room for one more tag.
  std::uint64_t* find(int tag) noexcept {
    if (nccl_tag_of(last_->next) == tag) [[likely]]
      return &last_->next;  // most connections know one tag only
    return search(tag);
  }

 private:
  struct Entry {
    std::uint64_t next = 0;
    bool used = false;
  };

  [[gnu::noinline]] std::uint64_t* search(int tag) noexcept {
    if (tag == 0) {
      last_ = &zero_;
      return &zero_.next;
    }
    // Multiplication spreads consecutive ranks over the table; the high bits are the mixed ones.
    std::uint32_t slot = (static_cast<std::uint32_t>(tag) * 2654435769U) >> 24;
    for (std::uint32_t probes = 0; probes < kCapacity; ++probes, slot = (slot + 1) % kCapacity) {
      Entry& entry = entries_[slot];
      if (!entry.used) entry = {.next = data_tag(receiver_, tag), .used = true};
      if (nccl_tag_of(entry.next) == tag) {
        last_ = &entry;
        return &entry.next;
      }
    }
    return nullptr;
  }
  static_assert(kCapacity == 1U << 8, "search() takes 8 bits of the hash");

  Key receiver_ = 0;
  // Tag 0 has an entry from the start, so that last_ always points to one in use.
  Entry zero_{.next = 0, .used = true};
  Entry* last_ = &zero_;
  std::array<Entry, kCapacity> entries_{};
};

}  // namespace weft::sendrecv
