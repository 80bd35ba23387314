// The control channel: small untagged messages between processes, on the same endpoint as the data, for connecting
// and for what communicators must tell each other. Rare by design; nothing here is on the data path.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "transports/connection/peer_table.h"
#include "transports/connection/rail.h"
#include "transports/connection/registry.h"
#include "transports/fabric/memory_region.h"
#include "weft/post.h"
#include "weft/wire.h"

namespace weft {

/// What the channel has seen; for statistics and tests.
struct ControlCounters {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint64_t refused = 0;      ///< malformed, for nobody, or not expected by the one it was for
  std::uint64_t undelivered = 0;  ///< sends that failed
};

/// Not thread safe: callers hold the device's lock.
class ControlChannel {
 public:
  static constexpr std::size_t kReceives = 64;  ///< always posted
  static constexpr std::size_t kSends = 256;    ///< in flight at once; a 257th must wait
  /// ... of which to one peer: a process that has stopped reading must not use up everybody's.
  static constexpr std::uint32_t kSendsPerPeer = 16;
  /// ... and to strangers who have been refused.
  static constexpr std::size_t kRefusals = 32;

  /// Registers the buffers where the provider asks for it and posts the receives.
  static Result<std::unique_ptr<ControlChannel>> open(Rail& rail, PeerTable& peers, Registry& registry,
                                                      TransportId transport);

  /// Sends a copy of `message`, whose header must be complete. When it cannot be delivered the peer is declared
  /// failed, and everybody who watches it hears so. The peer entry is held until the send has ended.
  template <class Message>
  PostStatus send(Peer& peer, const Message& message) noexcept {
    return send_bytes(peer, std::as_bytes(std::span(&message, 1)).first(wire_size(message)));
  }

  /// Makes sure that `peer` can still be reached, at most once per `interval`; a peer that cannot is declared failed.
  /// For callers who have waited for it long enough to wonder.
  void check(Peer& peer, std::chrono::steady_clock::time_point now, std::chrono::milliseconds interval) noexcept;

  // Called by the transport's progress for every completion of kind kControl.
  // Kept out of line: inlined, it would give the loop that reads completions a stack frame of kilobytes.
  [[gnu::cold, gnu::noinline]] void on_completion(fabric::Operation& operation, std::size_t received) noexcept;
  [[gnu::cold, gnu::noinline]] void on_error(const fabric::CompletionError& error) noexcept;

  /// Does what the provider could not take at once: receives to be posted again, notices of closed communicators. Cheap
  /// when there is nothing.
  void catch_up() noexcept {
    if (behind_) [[unlikely]]
      do_rest();
  }

  /// Sends a notice whose sender will not be there to try again. Held back while the provider is full; dropped where
  /// too many are.
  void send_last(Peer& peer, const Notice& notice) noexcept;

  TransportId transport() const noexcept { return transport_; }
  const ControlCounters& counters() const noexcept { return counters_; }
  /// Sends that have not ended; while there are any, somebody must make progress.
  std::size_t sends_in_flight() const noexcept { return kSends - free_count_; }

 private:
  struct Slot {
    Slot() : operation(fabric::OperationKind::kControl, 0, this) {}
    fabric::Operation operation;
    Peer* peer = nullptr;  ///< sends only
    std::byte* data = nullptr;
    bool is_send = false;
    bool is_refusal = false;
    bool is_farewell = false;  ///< whether it arrives says nothing to anybody
  };

  /// A notice that could not be sent at once. Holds a reference to its peer.
  struct Held {
    Peer* peer;
    Notice notice;
  };

  ControlChannel(Rail& rail, PeerTable& peers, Registry& registry, TransportId transport)
      : rail_(rail), peers_(peers), registry_(registry), transport_(transport) {}

  /// As send(), for a message whose loss nobody minds.
  PostStatus send_farewell(Peer& peer, const Notice& notice) noexcept;
  PostStatus send_bytes(Peer& peer, std::span<const std::byte> bytes) noexcept;
  void finish_send(Slot& slot) noexcept;
  [[gnu::cold, gnu::noinline]] void do_rest() noexcept;
  void note_unposted(Slot& slot) noexcept {
    unposted_[unposted_count_++] = &slot;
    behind_ = true;
  }
  void post_receives() noexcept;
  void receive(std::span<const std::byte> bytes) noexcept;
  bool dispatch(const ConnectRequest& request);
  bool dispatch(const ConnectReply& reply);
  bool dispatch(const Notice& notice);
  void refuse(const ConnectRequest& request, Verdict verdict);
  void count_refused(const char* reason);
  void* descriptor() const noexcept { return memory_ ? memory_->descriptor() : nullptr; }

  Rail& rail_;
  PeerTable& peers_;
  Registry& registry_;
  TransportId transport_;
  ControlCounters counters_;

  std::unique_ptr<std::byte[]> arena_;
  std::optional<fabric::MemoryRegion> memory_;
  std::array<Slot, kReceives> receives_;
  std::array<Slot, kSends> sends_;
  std::array<Slot*, kSends> free_sends_{};
  std::size_t free_count_ = 0;
  std::array<Slot*, kReceives> unposted_{};
  std::size_t unposted_count_ = 0;
  std::array<Held, kSends> held_{};
  std::size_t held_count_ = 0;
  std::size_t refusals_ = 0;  ///< in flight
  bool behind_ = false;       ///< catch_up() has something to do
};

}  // namespace weft
