// Is the process at the other end still there? Asked only while somebody waits for it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>

namespace weft {

/// Asks a peer's kernel whether anybody still listens at its address, by opening a TCP connection and closing it at
/// once. libfabric's socket providers do not tell: after a peer's death they try to connect again for ever and answer
/// every post with "try again" (seen with tcp;ofi_rxm and net of 1.17). A process that is merely slow or stopped keeps
/// its listening socket, so it is not mistaken for a dead one.
class SocketProbe {
 public:
  enum class Answer { kPending, kAlive, kGone, kUnknown };

  SocketProbe() = default;
  SocketProbe(const SocketProbe&) = delete;
  SocketProbe& operator=(const SocketProbe&) = delete;
  ~SocketProbe() { stop(); }

  /// Starts asking. False when `address` is not a socket address or no socket can be had; never blocks.
  bool start(std::span<const std::byte> address) noexcept;
  bool running() const noexcept { return socket_ >= 0; }
  /// The answer so far; anything but kPending ends the probe. kUnknown: an error that says nothing about the peer.
  /// `error` receives the errno behind kGone.
  Answer poll(int& error) noexcept;
  void stop() noexcept;

 private:
  int socket_ = -1;
  int immediate_error_ = 0;  ///< of a connect() that failed on the spot
};

/// A peer that is stopped for long collects the attempts in its kernel; it should not have to clear away many.
inline constexpr std::chrono::milliseconds kMaxProbeBackoff{30'000};

/// How long to leave a peer alone after a connection attempt: twice as long as before, up to kMaxProbeBackoff, but
/// never less than `interval`, which the user may have set to more.
constexpr std::chrono::milliseconds next_backoff(std::chrono::milliseconds current,
                                                 std::chrono::milliseconds interval) noexcept {
  return std::max(interval, std::min(2 * current, kMaxProbeBackoff));
}

/// When to ask what, for one peer. Plain state; ControlChannel::check runs it.
struct PeerCheck {
  using Time = std::chrono::steady_clock::time_point;
  Time next{};                           ///< no question before
  Time next_probe{};                     ///< no connection attempt before
  std::chrono::milliseconds backoff{0};  ///< grows while the peer answers that it is there
  SocketProbe probe;
};

}  // namespace weft
