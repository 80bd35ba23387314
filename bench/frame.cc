#include "bench/frame.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "bench/socket.h"
#include "bench/text.h"

namespace weft::bench {
namespace {

constexpr auto kWriteLimit = std::chrono::seconds(10);

Status write_all(int fd, std::span<const std::byte> bytes, Clock::time_point deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
      continue;
    }
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN) return fail(Code::kRemote, errno, std::strerror(errno));
    pollfd wait{fd, POLLOUT, 0};
    if (poll(&wait, 1, milliseconds_until(deadline)) == 0) return fail(Code::kTimeout, "the peer does not read");
  }
  return {};
}

}  // namespace

ReadState FrameReader::read(int fd, std::size_t max_payload) {
  // A completed frame's payload stays readable until here.
  if (have_ == sizeof header_ + payload_.size()) {
    have_ = 0;
    payload_.clear();
  }
  while (true) {
    const bool in_header = have_ < sizeof header_;
    auto* target =
        in_header ? reinterpret_cast<std::byte*>(&header_) + have_ : payload_.data() + (have_ - sizeof header_);
    const std::size_t wanted = in_header ? sizeof header_ - have_ : sizeof header_ + payload_.size() - have_;
    const ssize_t got = recv(fd, target, wanted, MSG_DONTWAIT);
    if (got == 0) return ReadState::kClosed;
    if (got < 0) {
      if (errno == EINTR) continue;
      return errno == EAGAIN ? ReadState::kMore : ReadState::kClosed;
    }
    have_ += static_cast<std::size_t>(got);
    if (in_header) {
      // The magic is looked at as soon as it is there: garbage shorter than a header must not be waited for.
      const std::size_t magic_bytes = std::min(have_, sizeof header_.magic);
      if (std::memcmp(&header_.magic, &FrameHeader::kMagic, magic_bytes) != 0) return ReadState::kGarbage;
      if (have_ < sizeof header_) continue;
      if (header_.bytes > max_payload) return ReadState::kGarbage;
      payload_.resize(header_.bytes);
    }
    if (have_ == sizeof header_ + payload_.size()) return ReadState::kFrame;
  }
}

Status write_frame(int fd, FrameHeader header, std::span<const std::byte> payload) {
  header.bytes = static_cast<std::uint32_t>(payload.size());
  const auto deadline = Clock::now() + kWriteLimit;
  // One buffer for small frames, so that they travel in one segment.
  Bytes frame;
  frame.reserve(sizeof header + payload.size());
  const auto head = std::as_bytes(std::span(&header, 1));
  frame.insert(frame.end(), head.begin(), head.end());
  frame.insert(frame.end(), payload.begin(), payload.end());
  return write_all(fd, frame, deadline);
}

Bytes pack(std::span<const Bytes> parts) {
  Bytes packed;
  for (const Bytes& part : parts) {
    const auto size = static_cast<std::uint32_t>(part.size());
    const auto* raw = reinterpret_cast<const std::byte*>(&size);
    packed.insert(packed.end(), raw, raw + sizeof size);
    packed.insert(packed.end(), part.begin(), part.end());
  }
  return packed;
}

Result<std::vector<Bytes>> unpack(std::span<const std::byte> packed, std::size_t parts) {
  std::vector<Bytes> result;
  for (std::size_t part = 0; part < parts; ++part) {
    std::uint32_t size = 0;
    if (packed.size() < sizeof size) return fail(Code::kRemote, "a gathered message is too short");
    std::memcpy(&size, packed.data(), sizeof size);
    packed = packed.subspan(sizeof size);
    if (packed.size() < size) return fail(Code::kRemote, "a gathered message is too short");
    result.emplace_back(packed.begin(), packed.begin() + size);
    packed = packed.subspan(size);
  }
  if (!packed.empty()) return fail(Code::kRemote, "a gathered message is too long");
  return result;
}

}  // namespace weft::bench
