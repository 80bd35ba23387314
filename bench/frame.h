// The frames of the rendezvous protocol, and how they are read from and written to a non-blocking socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/result.h"

namespace weft::bench {

using Bytes = std::vector<std::byte>;

enum class FrameKind : std::uint16_t {
  kHello = 1,  ///< client: rank and size, payload: process id and host as text
  kGather,     ///< client: its part; server: all parts, each behind its length
  kFailure,    ///< client: what failed; server: who failed first, and how
  kGoodbye,    ///< client: this rank is done and may close
  kRefused,    ///< server: why this client may not take part
};

/// In the byte order of the machine: all ranks of a run are of one kind.
struct FrameHeader {
  static constexpr std::uint32_t kMagic = 0x57624e31;  // "WbN1": protocol and its version

  std::uint32_t magic = kMagic;
  FrameKind kind = FrameKind::kHello;
  std::uint16_t reserved = 0;
  std::int32_t rank = 0;
  std::uint32_t value = 0;  ///< hello: number of ranks; gather: its sequence number
  std::uint32_t bytes = 0;  ///< of the payload that follows
};
static_assert(sizeof(FrameHeader) == 20);

/// Payloads above this are garbage: handles of 1,000 ranks in 8 channels fit a thousand times.
inline constexpr std::size_t kMaxPayload = std::size_t{256} << 20;
/// The same for whoever has not said hello yet.
inline constexpr std::size_t kMaxHello = 256;

/// A rank that is this many time limits later at a barrier than the first has failed. More than one, so that a rank
/// whose transfers are stuck says so itself before the barrier does.
inline constexpr int kBarrierLimits = 2;

enum class ReadState : std::uint8_t {
  kMore,     ///< nothing complete yet
  kFrame,    ///< header() and payload() hold a frame
  kClosed,   ///< the peer has closed or is gone
  kGarbage,  ///< the peer does not speak this protocol
};

/// Collects one frame at a time. One thread.
class FrameReader {
 public:
  /// Reads what is there, never waits, never reads past the frame.
  ReadState read(int fd, std::size_t max_payload);

  const FrameHeader& header() const { return header_; }
  /// The payload of the frame read() has just completed; valid until its next call.
  std::span<const std::byte> payload() const { return payload_; }

 private:
  std::size_t have_ = 0;  ///< bytes of header and payload read so far
  FrameHeader header_;
  Bytes payload_;
};

/// Writes a frame, waiting for room for at most 10 s. Sets header.bytes itself. Fails when the peer is gone or stuck.
Status write_frame(int fd, FrameHeader header, std::span<const std::byte> payload);

/// Packs parts, each behind its length, and back; unpack fails on anything pack could not have made.
Bytes pack(std::span<const Bytes> parts);
Result<std::vector<Bytes>> unpack(std::span<const std::byte> packed, std::size_t parts);

}  // namespace weft::bench
