// A short message that is sent before its permission has come, into memory that the receiver keeps for that
// (PROTOCOL.md, "Early").
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::rdma {

/// How many may be on their way, or lie unread, on one connection. Two would do for a ping-pong: the permission that
/// the sender has last seen was written before the last message but one had been read.
inline constexpr std::uint32_t kEarlySlots = 4;

/// Longer messages wait: the copies would cost more than the wait.
inline constexpr std::size_t kMaxEarlyBytes = 1000;

struct EarlyHeader {
  std::uint32_t number;    ///< of the connection's early messages, counted from 0
  std::uint32_t sequence;  ///< of the receive that it is for, if that has a buffer of its tag
  std::int32_t tag;
  std::uint32_t size;    ///< bytes
  std::uint32_t cookie;  ///< the sender's own
  std::uint32_t reserved;
};

struct alignas(64) EarlyMessage {
  EarlyHeader header;
  std::byte data[kMaxEarlyBytes];

  static constexpr std::size_t bytes(std::size_t size) noexcept { return offsetof(EarlyMessage, data) + size; }
};
static_assert(sizeof(EarlyMessage) == 1024 && offsetof(EarlyMessage, data) == 24);

/// In a clear-to-send, the low bits: how many early messages had been read, in order, when it was written. They tell
/// more numbers apart than can be on their way.
inline constexpr std::uint8_t kEarlyCountMask = 0x7f;
static_assert(kEarlySlots < kEarlyCountMask);
/// And the highest: an early message for this buffer is copied into it. Without, it is dropped, and must be sent again.
inline constexpr std::uint8_t kTakesEarly = 0x80;

}  // namespace weft::rdma
