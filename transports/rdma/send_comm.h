// The sending end of a connection. The send path is SendComm::send and post in send_comm.cc; what happens after a
// failure is in inquiry.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "transports/rdma/comm.h"
#include "transports/rdma/request.h"
#include "weft/post.h"

namespace weft::rdma {

/// Wants the device's lock unless a function says otherwise.
class SendComm final : public Connection {
 public:
  /// `card`: the receiver's. Takes over the references and the block.
  SendComm(Adapter& adapter, Peer* peer, Paths* paths, BlockRef block, Key receiver, const Card& card,
           std::uint32_t cookie);

  /// Writes `size` bytes at `data` to the receive of the same tag whose turn it is. Again: there is none yet, or no
  /// room; nothing happened, call later. The buffer belongs to the request until test() says done. Takes the lock; any
  /// thread, one at a time per communicator, as NCCL does.
  PostStatus send(const void* data, std::size_t size, int tag, const MemoryHandle* memory, Request*& out) noexcept;

  /// Posts what the queues had no room for, or goes on finding out what has become of the message.
  void catch_up(SendRequest& request) noexcept;

  // For the adapter.
  static void complete(SendRequest& request) noexcept;
  static void failed(SendRequest& request, std::uint8_t path, const fabric::CompletionError& error) noexcept;
  void inquiry_done() noexcept;
  void inquiry_failed(std::uint8_t path, const fabric::CompletionError& error) noexcept;

  using Connection::failed;

 private:
  friend void close(std::unique_ptr<SendComm> comm) noexcept;

  /// What is being found out about the one message at a time that is in doubt (PROTOCOL.md).
  struct Inquiry {
    enum class Step : std::uint8_t { kDraining, kReading, kRead, kAsking, kWaiting };
    SendRequest* request = nullptr;
    Step step = Step::kDraining;
    bool in_flight = false;
    bool asked_the_closed = false;  ///< once since the peer has closed
    Clock::time_point until;
  };

  std::string waits_for() const override;
  const ClearToSend* find(int tag, std::uint8_t& sub) const noexcept;
  void use(const ClearToSend& entry, std::uint8_t sub) noexcept;
  [[gnu::noinline]] bool may_go_early(std::size_t size, const MemoryHandle* memory) noexcept;
  [[gnu::noinline]] PostStatus send_early(const void* data, std::size_t size, int tag, const MemoryHandle* memory,
                                          Request*& out) noexcept;
  bool is_posted() const noexcept;
  [[gnu::noinline]] bool place_early() noexcept;
  void settle_early(SendRequest& request) noexcept;
  void plan(SendRequest& request) noexcept;
  void post(SendRequest& request) noexcept;
  void post_rest(SendRequest& request) noexcept;
  [[gnu::cold, gnu::noinline]] void refused(SendRequest& request, std::uint8_t path, int error) noexcept;
  fabric::PostResult write_size(const SendRequest& request, const Path& path, std::uint32_t what,
                                fabric::Operation& operation) noexcept;
  PostStatus not_now() noexcept;
  PostStatus too_long(std::size_t size, int tag, const ClearToSend& entry) noexcept;
  Immediate immediate(const SendRequest& request, std::uint8_t code) const noexcept;
  void doubt(SendRequest& request) noexcept;
  void inquire(SendRequest& request) noexcept;
  void look_at_entry(SendRequest& request, Clock::time_point now) noexcept;
  bool post_inquiry(SendRequest& request) noexcept;
  void inquiry_ended_badly(std::uint8_t path, const fabric::CompletionError& error) noexcept;
  void ask_later() noexcept;
  bool was_last_try(SendRequest& request, const fabric::CompletionError& error) noexcept;
  void send_anew(SendRequest& request, std::uint8_t generation) noexcept;
  void finish(SendRequest& request) noexcept;

  const std::uint16_t receiver_;  ///< its number in immediates
  const std::uint32_t cookie_;
  std::uint64_t remote_block_;
  std::array<std::uint32_t, kMaxRails> remote_keys_{};  ///< of the block
  std::uint32_t next_ = 1;                              ///< sequence number of the receive whose turn it is
  std::uint8_t used_ = 0;                               ///< bit i: its buffer i has got its message
  std::uint8_t last_path_;                              ///< the next message begins on the one after it
  const bool peer_takes_early_;
  const bool to_itself_;          ///< the receiver is in this process
  SendRequest* early_ = nullptr;  ///< the early message whose buffer is not known yet
  int early_tag_ = 0;             ///< its tag
  std::uint32_t early_sent_ = 0;  ///< early messages so far
  Inquiry inquiry_;
  RequestRing<SendRequest, kSendRequests> requests_;
};

/// The permission for the next message of `tag`, if the peer has given it.
inline const ClearToSend* SendComm::find(int tag, std::uint8_t& sub) const noexcept {
  const auto& entries = block().entries[slot_of(next_)];
  for (std::uint8_t i = 0; i < kMaxGroup; ++i) {
    if ((used_ >> i & 1) != 0) continue;
    const ClearToSend& entry = entries[i];
    if (!is_complete(entry, next_, cookie_) || i >= entry.count) return nullptr;
    if (entry.tag != tag) continue;
    sub = i;
    return &entry;
  }
  return nullptr;
}

/// A message goes to buffer `sub` of the receive whose turn it is.
inline void SendComm::use(const ClearToSend& entry, std::uint8_t sub) noexcept {
  if (entry.count > 1) {
    used_ |= static_cast<std::uint8_t>(1U << sub);
    if (used_ != (1U << entry.count) - 1) return;
    used_ = 0;
  }
  ++next_;
}

inline void SendComm::plan(SendRequest& request) noexcept {
  StripePlan& plan = request.plan;
  const bool sized = adapter().reports_sizes();
  plan_stripes(plan, request.size, paths().up(), last_path_, sized ? kMaxStripes : kMaxStripes - 1);
  if (plan.count == 0) [[unlikely]]
    return;
  last_path_ = plan.paths[plan.count - 1];
  if (!sized) [[unlikely]]
    plan.paths[plan.count++] = last_path_;
}

}  // namespace weft::rdma
