// TCP sockets for the rendezvous: an owned descriptor, addresses, listening and connecting.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "weft/result.h"

namespace weft::bench {

using Clock = std::chrono::steady_clock;

/// Owns a file descriptor. Move only.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// Where rank 0 waits for the others.
struct HostPort {
  std::string host;
  std::uint16_t port = 0;
};

/// "HOST:PORT", an IPv6 address in brackets.
Result<HostPort> parse_host_port(const std::string& text);

/// "10.0.0.1:5000", or what there is instead.
std::string peer_text(int fd);

/// Listens on `where`: on the loopback device if the host is the loopback address, else on all of them, since a name
/// may belong to an address that only the outside knows. Port 0: the kernel chooses. Non-blocking.
Result<Descriptor> listen_on(const HostPort& where);

/// The port a listening socket has.
std::uint16_t port_of(int fd);

/// Connects, trying again until `deadline` while nobody listens yet. Non-blocking, TCP_NODELAY.
Result<Descriptor> connect_to(const HostPort& where, Clock::time_point deadline);

/// Milliseconds from now until `deadline`, rounded up, never below 0: for poll().
int milliseconds_until(Clock::time_point deadline);

}  // namespace weft::bench
