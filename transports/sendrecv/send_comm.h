// The sending end of a connection. The send path is SendComm::send in send_comm.cc, whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "transports/connection/comm.h"
#include "transports/connection/mr_cache.h"
#include "transports/sendrecv/request.h"
#include "transports/sendrecv/tag_sequences.h"
#include "weft/post.h"

namespace weft::sendrecv {

class SendComm final : public Comm {
 public:
  /// `receiver`: the key the listener's side answered with. Takes over one reference to `peer`.
  SendComm(Device& device, Peer* peer, Key receiver);

  /// Sends `size` bytes at `data` to the receive of the same tag whose turn it is. Again: nothing happened, call later.
  /// The buffer belongs to the request until test() says done. Any thread; one at a time per communicator, as NCCL
  /// does.
  PostStatus send(const void* data, std::size_t size, int tag, const MemoryHandle* memory, Request*& out) noexcept;

  bool on_notice(const Notice& notice) override;
  /// No provider cancels a send. The peer may be taking it, or never will: it gets kSendGrace once.
  void withdraw(const MemoryHandle* memory) noexcept override;
  bool uses(const MemoryHandle* memory) const noexcept override;

  // For progress.
  static void complete(SendRequest& request) noexcept {
    request.state = RequestState::kDone;
    request.comm->operation_ended();
  }
  static void complete_error(SendRequest& request, const fabric::CompletionError& error) noexcept;

 private:
  friend void close(std::unique_ptr<SendComm> comm) noexcept;
  /// Messages sent that are not known to have been received.
  std::uint32_t unreported() const noexcept { return static_cast<std::uint32_t>(posted()) - consumed_; }
  bool has_in_flight(const MemoryHandle* memory) const noexcept;
  PostStatus not_now() noexcept;
  PostStatus refused(int error) noexcept;
  PostStatus too_many_tags(int tag) noexcept;

  std::optional<Clock::time_point> grace_ends_;  ///< since withdraw() has found a send in flight
  std::uint32_t consumed_ = 0;                   ///< messages reported as received, modulo 2^32
  TagSequences sequences_;
  RequestRing<SendRequest, kSendRequests> requests_;
};

}  // namespace weft::sendrecv
