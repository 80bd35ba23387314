// The receiving end of a connection. The receive path is RecvComm::receive and write, the arrivals' RecvComm::arrived,
// all in recv_comm.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "transports/rdma/comm.h"
#include "transports/rdma/request.h"
#include "weft/post.h"

namespace weft::rdma {

/// Wants the device's lock unless a function says otherwise.
class RecvComm final : public Connection {
 public:
  /// `card`: the sender's. Takes over the references and the block. start() must be called before the first receive.
  RecvComm(Adapter& adapter, Peer* peer, Paths* paths, BlockRef block, Key sender, const Card& card);
  ~RecvComm() override;

  /// `number`: what peers put into their immediates.
  void start(std::uint16_t number) noexcept {
    number_ = number;
    retired_ = false;
  }

  /// This end, for the peer.
  Card card() const {
    Card card = Connection::card();
    card.comm = number_;
    card.takes_early = takes_early_ ? 1 : 0;
    return card;
  }

  /// Clears `count` buffers to be written by the next messages, each by one of its tag. Again: nothing happened, call
  /// later. `optional_completion`: the request may be done before the data is there. Takes the lock; any thread, one
  /// at a time per communicator, as NCCL does.
  PostStatus receive(int count, void* const* data, const std::size_t* sizes, const int* tags, void* const* memory,
                     bool optional_completion, Request*& out) noexcept;

  /// Makes what has arrived in GPU memory visible to the GPU. Done when it returns: `out` becomes null. Takes the lock.
  PostStatus flush(int count, const int* sizes, void* const* memory, Request*& out) noexcept;

  /// Writes the clear-to-send that Adapter::hold_back has kept.
  void write_held(RecvRequest& request) noexcept;

  /// Writes what could not be written.
  void catch_up(RecvRequest& request) noexcept;

  /// A peer's write has come. False if it fits nothing that is open.
  bool arrived(std::uint32_t immediate, std::size_t bytes) noexcept;

  bool on_notice(const Notice& notice) override;
  bool is_idle() const noexcept override { return writes_ == 0; }

  // For the adapter.
  static void complete(RecvRequest& request) noexcept;
  static void failed(RecvRequest& request, std::uint8_t path, const fabric::CompletionError& error) noexcept;
  void write_failed(RecvRequest& request, std::uint8_t path, const fabric::CompletionError& error) noexcept;
  static void write_later(RecvRequest& request) noexcept;

  using Connection::failed;

 private:
  friend void close(std::unique_ptr<RecvComm> comm) noexcept;

  void fill_entry(RecvRequest& request, std::uint8_t sub, void* data, std::size_t size, int tag,
                  const MemoryHandle* memory) noexcept;
  [[gnu::noinline]] void make_optional(RecvRequest& request) noexcept;
  void write(RecvRequest& request) noexcept;
  std::uint32_t awaited(std::uint32_t sequence, std::uint8_t sub, std::uint8_t generation) const noexcept;
  bool has_drained(RecvRequest& request) noexcept;
  bool asked(RecvRequest& request, const Immediate& what) noexcept;
  void filled(RecvRequest& request, RecvRequest::Sub& sub) noexcept;
  bool early_arrived(const Immediate& what, std::size_t bytes) noexcept;
  [[gnu::noinline]] void take_waiting() noexcept;
  void take_early(const EarlyHeader& message) noexcept;
  bool is_registered(const RecvRequest& request, const std::byte* data, std::size_t size) const noexcept;
  void early_is_read(std::uint32_t number) noexcept;
  void finish_if_done(RecvRequest& request) noexcept;
  void was_used(std::uint32_t sequence) noexcept {
    if (static_cast<std::int32_t>(sequence - seen_) > 0) seen_ = sequence;
  }
  bool is_used(std::uint32_t sequence) const noexcept { return static_cast<std::int32_t>(sequence - seen_) <= 0; }
  PostStatus not_now() noexcept;
  std::string waits_for() const override;
  /// Out of the table: nothing that arrives reaches this object any more.
  void retire() noexcept;

  std::uint16_t number_ = 0;
  bool retired_ = true;  ///< not in the table (yet)
  const std::uint32_t cookie_;
  const std::uint64_t mailbox_;
  std::array<std::uint32_t, kMaxRails> mailbox_keys_{};
  std::uint32_t next_ = 1;                  ///< sequence number of the next receive
  std::uint32_t writes_ = 0;                ///< in flight
  std::uint8_t last_path_ = kMaxRails - 1;  ///< of the last clear-to-send; the next takes the one after it
  const bool gives_back_;                   ///< receives whose completion is optional, before their data has come
  const bool takes_early_;
  bool early_waits_ = false;      ///< for its receive to be posted
  EarlyHeader waiting_{};         ///< that early message
  std::uint32_t seen_ = 0;        ///< the sender has seen the permissions of all receives up to this one
  std::uint32_t early_read_ = 0;  ///< early messages that have been read, without a gap
  std::uint8_t early_count_ = 0;  ///< the same, as a clear-to-send tells it
  std::uint8_t early_ahead_ = 0;  ///< bit i: the one i after those has been read, too
  RequestRing<RecvRequest, kRecvRequests> requests_;
};

}  // namespace weft::rdma
