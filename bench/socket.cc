#include "bench/socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <thread>

#include "bench/text.h"

namespace weft::bench {
namespace {

using AddressList = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

Result<AddressList> resolve(const HostPort& where, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int rc = getaddrinfo(where.host.empty() ? nullptr : where.host.c_str(), std::to_string(where.port).c_str(),
                             &hints, &found);
  if (rc != 0) {
    return fail(Code::kArgument,
                text("the rendezvous host '%s' cannot be resolved: %s", where.host.c_str(), gai_strerror(rc)));
  }
  return AddressList(found, &freeaddrinfo);
}

bool is_loopback(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
  }
  return address->sa_family == AF_INET6 &&
         IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

std::string address_text(const sockaddr* address, socklen_t size) {
  char host[NI_MAXHOST];
  char service[NI_MAXSERV];
  constexpr int kNumeric = NI_NUMERICHOST | NI_NUMERICSERV;
  if (getnameinfo(address, size, host, sizeof host, service, sizeof service, kNumeric) != 0)
    return "an unknown address";
  return std::string(host) + ":" + service;
}

/// One attempt at one address, at most until the deadline. The error is an errno.
std::expected<Descriptor, int> connect_once(const addrinfo& address, Clock::time_point deadline) {
  Descriptor fd(socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return std::unexpected(errno);
  if (connect(fd.get(), address.ai_addr, address.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return std::unexpected(errno);
    pollfd wait{fd.get(), POLLOUT, 0};
    if (poll(&wait, 1, milliseconds_until(deadline)) == 0) return std::unexpected(ETIMEDOUT);
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) return std::unexpected(errno);
    if (error != 0) return std::unexpected(error);
  }
  return fd;
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}

Result<HostPort> parse_host_port(const std::string& input) {
  const std::size_t colon = input.rfind(':');
  HostPort where;
  if (colon != std::string::npos && colon > 0) {
    where.host = input.substr(0, colon);
    const char* end = input.data() + input.size();
    const auto parsed = std::from_chars(input.data() + colon + 1, end, where.port);
    if (where.host.front() == '[' && where.host.back() == ']') where.host = where.host.substr(1, where.host.size() - 2);
    if (parsed.ec == std::errc() && parsed.ptr == end && where.port != 0 && !where.host.empty()) return where;
  }
  return fail(Code::kArgument, text("'%s' is not HOST:PORT with a port from 1 to 65535", input.c_str()));
}

std::string peer_text(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  auto* address = reinterpret_cast<sockaddr*>(&storage);
  if (getpeername(fd, address, &size) != 0) return "an address that is gone";
  return address_text(address, size);
}

Result<Descriptor> listen_on(const HostPort& where) {
  TRY(const AddressList addresses, resolve(where, 0));
  sockaddr_storage storage{};
  std::memcpy(&storage, addresses->ai_addr, addresses->ai_addrlen);
  auto* address = reinterpret_cast<sockaddr*>(&storage);
  if (!is_loopback(address)) {
    if (address->sa_family == AF_INET) reinterpret_cast<sockaddr_in*>(address)->sin_addr.s_addr = htonl(INADDR_ANY);
    if (address->sa_family == AF_INET6) reinterpret_cast<sockaddr_in6*>(address)->sin6_addr = in6addr_any;
  }
  Descriptor fd(socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return fail(Code::kSystem, errno, text("socket failed: %s", std::strerror(errno)));
  const int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(fd.get(), address, addresses->ai_addrlen) != 0 || listen(fd.get(), SOMAXCONN) != 0) {
    const int error = errno;
    const char* remedy = error == EADDRINUSE ? "; another run may hold it: choose another port with --rendezvous" : "";
    return fail(Code::kSystem, error,
                text("cannot wait for the other ranks on port %u of %s: %s%s", unsigned{where.port}, where.host.c_str(),
                     std::strerror(error), remedy));
  }
  return fd;
}

std::uint16_t port_of(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return 0;
  if (storage.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port);
  return ntohs(reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
}

Result<Descriptor> connect_to(const HostPort& where, Clock::time_point deadline) {
  constexpr auto kPause = std::chrono::milliseconds(50);
  TRY(const AddressList addresses, resolve(where, 0));
  int error = ECONNREFUSED;
  while (true) {
    for (const addrinfo* each = addresses.get(); each != nullptr; each = each->ai_next) {
      auto attempt = connect_once(*each, deadline);
      if (attempt) {
        const int on = 1;
        setsockopt(attempt->get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        return std::move(*attempt);
      }
      error = attempt.error();
    }
    if (Clock::now() + kPause >= deadline) break;
    std::this_thread::sleep_for(kPause);
  }
  return fail(Code::kTimeout, error,
              text("cannot reach rank 0 at %s port %u: %s; is rank 0 running there?", where.host.c_str(),
                   unsigned{where.port}, std::strerror(error)));
}

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000'000));
}

}  // namespace weft::bench
