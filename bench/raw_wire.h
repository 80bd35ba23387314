// A wire over bare libfabric: tagged messages or writes with immediate data between two ranks, nothing in between.
// What any plugin on the same provider is measured against.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "bench/raw_rail.h"
#include "bench/rendezvous.h"
#include "bench/wire_buffers.h"
#include "transports/fabric/info.h"
#include "transports/fabric/library.h"
#include "transports/rdma/stripes.h"
#include "weft/post.h"
#include "weft/result.h"

namespace weft::bench {

/// Which NICs to use, as the plugin's device names the first, and through what.
struct RawChoice {
  std::string domain;      ///< "eth0"; falls back to any domain of the provider if no other fits
  std::string provider;    ///< empty: the best that serves the domain
  std::string library;     ///< path of libfabric; empty: as Weft searches
  bool one_sided = false;  ///< writes with immediate data instead of tagged messages
  int rails = 1;           ///< NICs to spread the messages over; more than one is one-sided only
};

/// Spreads messages as Weft does: those below twice kLeastPart take one rail after the other, longer ones are cut.
class RawWire {
 public:
  static constexpr int kMostRails = 8;

  /// Opens the endpoints and learns the other rank's addresses. All ranks must call it. `buffers` must outlive the
  /// wire.
  static Result<std::unique_ptr<RawWire>> create(const RawChoice& choice, Rendezvous& rendezvous,
                                                 const WireBuffers& buffers);

  PostStatus post_send(std::size_t bytes) {
    const std::size_t slot = sends_posted_ % kStreamDepth;
    if (parts_posted_ == 0 && unfinished_[slot] != 0) return PostStatus::kAgain;
    const std::size_t parts = std::clamp<std::size_t>(bytes / kLeastPart, 1, rails_.size());
    const std::size_t each = parts == 1 ? bytes : rounded_up((bytes + parts - 1) / parts);
    for (; parts_posted_ < parts; ++parts_posted_) {
      const std::size_t offset = parts_posted_ * each;
      const ssize_t rc = post_part(slot, offset, std::min(bytes - offset, each), parts);
      if (rc != 0) return status_of(rc, one_sided_ ? "fi_writedata" : "fi_tsend");
      if (parts_posted_ == 0)
        unfinished_[slot] = parts;  // all of them: the first may be done before the last is posted
      next_rail_ = next_rail_ + 1 == rails_.size() ? 0 : next_rail_ + 1;
    }
    parts_posted_ = 0;
    ++sends_posted_;
    return PostStatus::kPosted;
  }

  PostStatus post_receive(std::size_t bytes) {
    const std::size_t slot = receives_posted_ % kStreamDepth;
    if (one_sided_) return PostStatus::kPosted;  // the buffer is always open
    if (receives_posted_ - receives_done_ == kStreamDepth) return PostStatus::kAgain;
    const ssize_t rc = rails_[0]->receive(buffers_->receive_slot(slot), bytes, &receive_contexts_[slot]);
    if (rc == 0) ++receives_posted_;
    return status_of(rc, "fi_trecv");
  }

  TestStatus look() {
    TestStatus status = TestStatus::kPending;
    for (const auto& rail : rails_) {
      fi_cq_tagged_entry entries[kBatch];
      const ssize_t count = rail->read(entries);
      if (count == -FI_EAGAIN) continue;
      if (count < 0) return queue_failed(*rail, count);
      for (ssize_t i = 0; i < count; ++i) finish(entries[i]);
      status = TestStatus::kDone;
    }
    return status;
  }
  TestStatus look_for_sends() { return look(); }  // in the same queues

  std::size_t sends_done() const { return sends_done_; }
  std::size_t receives_done() const { return receives_done_; }
  std::string what() const { return text("libfabric transfer with rank %d", peer_rank_); }
  Error error() const { return error_; }

  /// "tcp;ofi_rxm on eth0, libfabric 1.17 (/path/libfabric.so.1)".
  std::string description() const;

 private:
  static constexpr std::size_t kBatch = 8;
  /// As Weft cuts, so that both do the same.
  static constexpr std::size_t kLeastPart = rdma::kMinStripeBytes;
  static constexpr std::size_t kAlignment = rdma::kStripeAlignment;
  static constexpr unsigned kPartsShift = 16;  ///< immediate data: the slot, and above it in how many parts it comes

  RawWire(fabric::Library library, bool one_sided, const WireBuffers& buffers)
      : library_(std::move(library)), one_sided_(one_sided), buffers_(&buffers) {}

  static constexpr std::size_t rounded_up(std::size_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

  Status open(std::vector<fabric::Info> infos, Rendezvous& rendezvous);
  PostStatus status_of(ssize_t rc, const char* call);
  TestStatus queue_failed(const RawRail& rail, ssize_t rc);

  ssize_t post_part(std::size_t slot, std::size_t offset, std::size_t bytes, std::size_t parts) {
    RawRail& rail = *rails_[next_rail_];
    fi_context2* context = &send_contexts_[slot * kMostRails + parts_posted_];
    const std::byte* data = buffers_->send_slot(slot) + offset;
    if (!one_sided_) return rail.send(data, bytes, context);
    return rail.write(data, bytes, buffers_->receive_offset(slot) + offset, slot | parts << kPartsShift, context);
  }

  /// A message is done with its last part. Parts of a slot's next message may come before the last of this one; the
  /// number of messages is right all the same once they are all there.
  void finish(const fi_cq_tagged_entry& entry) {
    if ((entry.flags & FI_REMOTE_WRITE) != 0) {
      std::uint64_t& arrived = arrived_[entry.data % kStreamDepth];
      if (++arrived < entry.data >> kPartsShift) return;
      arrived = 0;
      ++receives_done_;
    } else if ((entry.flags & FI_RECV) != 0) {
      ++receives_done_;
    } else {
      const auto index = static_cast<std::size_t>(static_cast<fi_context2*>(entry.op_context) - send_contexts_);
      if (--unfinished_[index / kMostRails] == 0) ++sends_done_;
    }
  }

  // In the order in which they are made; they go in the opposite one.
  fabric::Library library_;
  bool one_sided_;
  const WireBuffers* buffers_;
  std::vector<std::unique_ptr<RawRail>> rails_;

  int peer_rank_ = -1;
  fi_context2 send_contexts_[kStreamDepth * kMostRails] = {};
  fi_context2 receive_contexts_[kStreamDepth] = {};
  std::uint64_t unfinished_[kStreamDepth] = {};  ///< parts of the slot's message that are on their way
  std::uint64_t arrived_[kStreamDepth] = {};     ///< parts of the slot's message that are here
  std::size_t next_rail_ = 0;
  std::size_t parts_posted_ = 0;  ///< of the message being posted
  std::size_t sends_posted_ = 0;
  std::size_t sends_done_ = 0;
  std::size_t receives_posted_ = 0;
  std::size_t receives_done_ = 0;
  Error error_{Code::kInternal, 0, ""};
};

}  // namespace weft::bench
