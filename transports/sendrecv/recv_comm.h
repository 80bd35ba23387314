// The receiving end of a connection. The receive path is RecvComm::receive in recv_comm.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "transports/connection/comm.h"
#include "transports/connection/mr_cache.h"
#include "transports/sendrecv/request.h"
#include "transports/sendrecv/tag_sequences.h"
#include "weft/post.h"

namespace weft::sendrecv {

class RecvComm final : public Comm {
 public:
  /// `sender`: the key of the communicator at the other end. Takes over one reference to `peer`.
  RecvComm(Device& device, Peer* peer, Key sender);

  /// Call once the registry has given the communicator its key: it is part of every message's tag.
  void start() noexcept;

  /// Receives `count` (1 to kMaxGroup) messages, the i-th of them with tags[i] into at most sizes[i] bytes at data[i].
  /// `memory` (MemoryHandle pointers, as NCCL holds them) or its entries may be null. With `optional_completion` the
  /// caller does not need to know when the data is there, so the request may be done before. Again: nothing happened,
  /// call later. Threads: as SendComm::send.
  PostStatus receive(int count, void* const* data, const std::size_t* sizes, const int* tags, void* const* memory,
                     bool optional_completion, Request*& out) noexcept;

  /// Makes received data visible to the GPU. `out` stays null: it is done on return. Does nothing for host memory.
  PostStatus flush(int count, const int* sizes, void* const* memory, Request*& out) noexcept;

  /// True where a receive that nobody needs to hear of may be given back early: the provider moves data unasked.
  bool can_detach() const noexcept { return can_detach_; }
  /// Cancels the receives into it, which is the end of the communicator. One in the middle of its message goes on.
  void withdraw(const MemoryHandle* memory) noexcept override;
  bool uses(const MemoryHandle* memory) const noexcept override;

  /// Posts what a full provider refused earlier, and reports to the sender when it is time.
  void catch_up(RecvRequest& request) noexcept {
    if (request.posted < request.count) [[unlikely]]
      post_rest(request);
    report_if_due();
  }
  void report_if_due() noexcept {
    if (static_cast<std::uint32_t>(ended()) - reported_ >= kCreditEvery) [[unlikely]]
      report();
  }

  // For progress.
  static void complete(RecvRequest& request, std::uint8_t index, std::size_t received) noexcept {
    auto& sub = request.subs[index];
    sub.received = received;
    sub.memory = nullptr;
    request.comm->operation_ended();
    if (--request.remaining > 0) return;
    request.state = request.state == RequestState::kDetached ? RequestState::kFree : RequestState::kDone;
  }
  static void complete_error(RecvRequest& request, const fabric::CompletionError& error) noexcept;

 private:
  friend void close(std::unique_ptr<RecvComm> comm) noexcept;
  [[gnu::noinline]] PostStatus receive_group(RecvRequest& request, int count, void* const* data,
                                             const std::size_t* sizes, const int* tags, void* const* memory) noexcept;
  void post_rest(RecvRequest& request) noexcept;
  PostStatus refused(int error) noexcept;
  PostStatus not_now() noexcept;
  PostStatus too_many_tags(int tag) noexcept;
  void report() noexcept;
  /// Cancels what is in flight into `memory`; null: everything. How much that is; it has not ended yet.
  std::size_t cancel(const MemoryHandle* memory) noexcept;

  std::uint32_t reported_ = 0;  ///< messages reported to the sender as received, modulo 2^32
  bool can_detach_;
  TagSequences sequences_;
  RequestRing<RecvRequest, kRecvRequests> requests_;
};

}  // namespace weft::sendrecv
