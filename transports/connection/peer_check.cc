#include "transports/connection/peer_check.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace weft {

bool SocketProbe::start(std::span<const std::byte> address) noexcept {
  sockaddr_storage storage{};
  if (address.size() < sizeof(sa_family_t) || address.size() > sizeof storage) return false;
  std::memcpy(&storage, address.data(), address.size());
  if (storage.ss_family != AF_INET && storage.ss_family != AF_INET6) return false;
  socket_ = ::socket(storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket_ < 0) return false;
  const int rc =
      ::connect(socket_, reinterpret_cast<const sockaddr*>(&storage), static_cast<socklen_t>(address.size()));
  immediate_error_ = rc == 0 || errno == EINPROGRESS ? 0 : errno;
  return true;
}

SocketProbe::Answer SocketProbe::poll(int& error) noexcept {
  error = immediate_error_;
  if (error == 0) {
    pollfd ready{socket_, POLLOUT, 0};
    if (::poll(&ready, 1, 0) == 0) return Answer::kPending;
    socklen_t size = sizeof error;
    if (getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  }
  stop();
  switch (error) {
    case 0: return Answer::kAlive;
    case ECONNREFUSED:
    case EHOSTUNREACH:
    case EHOSTDOWN:
    case ENETUNREACH:
    case ETIMEDOUT: return Answer::kGone;
    default: return Answer::kUnknown;
  }
}

void SocketProbe::stop() noexcept {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
  immediate_error_ = 0;
}

}  // namespace weft
