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
  static constexpr std::uint32_t kCapacity = 256;

  TagSequences() = default;
  TagSequences(const TagSequences&) = delete;
  TagSequences& operator=(const TagSequences&) = delete;

  /// `receiver`: the receiving communicator, which is part of every data tag. Call before anything else.
  void start(Key receiver) noexcept {
    receiver_ = receiver;
    last_ = &entries_[0];
    // Tag 0 hashes to slot 0, so last_ always points to an entry in use.
    *last_ = {.next = data_tag(receiver, 0), .used = true};
  }

  /// The data tag of the next message of `tag`, to be moved on by kNextInSequence once that is posted; nullptr when a
  /// 257th tag would be needed.
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
  Entry* last_ = nullptr;
  std::array<Entry, kCapacity> entries_{};
};

}  // namespace weft::sendrecv
