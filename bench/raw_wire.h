// A wire over bare libfabric: tagged messages or writes with immediate data between two endpoints, nothing in between.
// What any plugin on the same provider is measured against.
#pragma once

#include <rdma/fi_tagged.h>

#include <memory>
#include <string>
#include <vector>

#include "bench/rendezvous.h"
#include "bench/wire_buffers.h"
#include "transports/fabric/address_vector.h"
#include "transports/fabric/completion_queue.h"
#include "transports/fabric/domain.h"
#include "transports/fabric/endpoint.h"
#include "transports/fabric/info.h"
#include "transports/fabric/library.h"
#include "transports/fabric/memory_region.h"
#include "weft/result.h"

namespace weft::bench {

/// Which NIC to use, as the plugin's device names it, and through what.
struct RawChoice {
  std::string domain;      ///< "eth0"; falls back to any domain of the provider if no other fits
  std::string provider;    ///< empty: the best that serves the domain
  std::string library;     ///< path of libfabric; empty: as Weft searches
  bool one_sided = false;  ///< writes with immediate data instead of tagged messages
};

class RawWire {
 public:
  /// Opens an endpoint and learns the other rank's address. All ranks must call it.
  static Result<std::unique_ptr<RawWire>> create(const RawChoice& choice, Rendezvous& rendezvous, std::size_t bytes);

  PostStatus post_send(std::size_t bytes) {
    const std::size_t slot = sends_posted_ % kStreamDepth;
    if (sends_posted_ - sends_done_ == kStreamDepth) return PostStatus::kAgain;
    const ssize_t rc =
        one_sided_ ? fi_writedata(endpoint_->get(), buffers_.send_slot(slot), bytes, send_descriptor_, slot, peer_,
                                  remote_.address + buffers_.receive_offset(slot), remote_.key, &send_contexts_[slot])
                   : fi_tsend(endpoint_->get(), buffers_.send_slot(slot), bytes, send_descriptor_, peer_, kTag,
                              &send_contexts_[slot]);
    if (rc == 0) ++sends_posted_;
    return status_of(rc, one_sided_ ? "fi_writedata" : "fi_tsend");
  }

  PostStatus post_receive(std::size_t bytes) {
    const std::size_t slot = receives_posted_ % kStreamDepth;
    if (one_sided_) return PostStatus::kPosted;  // the buffer is always open
    if (receives_posted_ - receives_done_ == kStreamDepth) return PostStatus::kAgain;
    const ssize_t rc = fi_trecv(endpoint_->get(), buffers_.receive_slot(slot), bytes, receive_descriptor_,
                                FI_ADDR_UNSPEC, kTag, 0, &receive_contexts_[slot]);
    if (rc == 0) ++receives_posted_;
    return status_of(rc, "fi_trecv");
  }

  TestStatus progress() {
    fi_cq_tagged_entry entries[kBatch];
    const ssize_t count = fi_cq_read(queue_->get(), entries, kBatch);
    if (count == -FI_EAGAIN) return TestStatus::kPending;
    if (count < 0) return queue_failed(count);
    for (ssize_t i = 0; i < count; ++i) {
      const bool received = (entries[i].flags & (FI_RECV | FI_REMOTE_WRITE)) != 0;
      receives_done_ += received ? 1 : 0;
      sends_done_ += received ? 0 : 1;
    }
    return TestStatus::kDone;
  }

  std::size_t sends_done() const { return sends_done_; }
  std::size_t receives_done() const { return receives_done_; }
  std::string what() const { return text("libfabric transfer with rank %d", peer_rank_); }
  Error error() const { return error_; }

  const WireBuffers& buffers() const { return buffers_; }
  /// "tcp;ofi_rxm on eth0, libfabric 1.17 (/path/libfabric.so.1)".
  std::string description() const;

 private:
  static constexpr std::size_t kBatch = 8;
  static constexpr std::uint64_t kTag = 1;
  /// Nothing stops a one-sided sender: a stream of messages must fit.
  static constexpr std::size_t kOneSidedEntries = 16384;

  RawWire(fabric::Library library, fabric::Info info, bool one_sided)
      : library_(std::move(library)), info_(std::move(info)), one_sided_(one_sided) {}

  Status open(Rendezvous& rendezvous, std::size_t bytes);
  Status register_buffers();
  PostStatus status_of(ssize_t rc, const char* call);
  TestStatus queue_failed(ssize_t rc);

  // In the order in which they are made; they go in the opposite one.
  fabric::Library library_;
  fabric::Info info_;
  bool one_sided_;
  std::unique_ptr<fabric::Domain> domain_;
  std::unique_ptr<fabric::CompletionQueue> queue_;
  std::unique_ptr<fabric::AddressVector> addresses_;
  std::unique_ptr<fabric::Endpoint> endpoint_;
  WireBuffers buffers_;
  std::vector<fabric::MemoryRegion> regions_;

  void* send_descriptor_ = nullptr;
  void* receive_descriptor_ = nullptr;
  fi_addr_t peer_ = FI_ADDR_UNSPEC;
  fabric::RemoteMemory remote_{};  ///< the peer's receive buffer, one-sided only
  int peer_rank_ = -1;
  fi_context2 send_contexts_[kStreamDepth] = {};  ///< scratch space of the provider
  fi_context2 receive_contexts_[kStreamDepth] = {};
  std::size_t sends_posted_ = 0;
  std::size_t sends_done_ = 0;
  std::size_t receives_posted_ = 0;
  std::size_t receives_done_ = 0;
  Error error_{Code::kInternal, 0, ""};
};

}  // namespace weft::bench
