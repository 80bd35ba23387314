// What NCCL holds as a request: one isend, or one irecv of up to eight buffers.
#pragma once

#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "transports/connection/device.h"
#include "transports/connection/request_ring.h"
#include "transports/rdma/mailbox.h"
#include "transports/rdma/stripes.h"

namespace weft::rdma {

/// A message (or a permission) of which so many tries fail, while probes of the same paths do not, fails for its own
/// sake: a limit of sizes, GPU memory that a NIC cannot reach. With kDrain between two tries they take more than three
/// seconds. What fails together, or is refused at once, is one try.
inline constexpr std::uint8_t kMostAttempts = 64;

struct Request {
  Comm* comm = nullptr;
  RequestKind kind;
  RequestState state = RequestState::kFree;

  explicit Request(RequestKind kind) noexcept : kind(kind) {}
};

/// Pending: `posted` of `plan`'s stripes have been handed out, `in_flight` of them have not ended. In doubt: one has
/// failed, no more are posted, and when all have ended the receiver is asked (inquiry.cc). Early: early.cc.
struct SendRequest : Request {
  SendRequest() noexcept : Request(RequestKind::kSend) {}

  std::uint8_t posted = 0;
  std::uint8_t sub = 0;  ///< which buffer of the receive
  std::uint8_t in_flight = 0;
  std::uint8_t generation = 0;  ///< how often it has been sent anew
  std::uint8_t attempts = 0;    ///< tries that have failed for a path's sake
  bool in_doubt = false;
  bool early = false;    ///< sent before its permission, and not settled
  bool dropped = false;  ///< such a one, which the receiver has no use for
  std::uint32_t sequence = 0;
  const std::byte* data = nullptr;
  std::size_t size = 0;
  const MemoryHandle* memory = nullptr;
  Clock::time_point ended;  ///< in doubt: when the last operation did
  StripePlan plan;
  SendRequest* following = nullptr;  ///< the next in the ring
};

/// Pending: until every buffer has been filled and no write of its permissions is in flight or in doubt.
struct RecvRequest : Request {
  RecvRequest() noexcept : Request(RequestKind::kReceive) {}

  struct Sub {
    std::uint32_t awaits = kNothing;  ///< Immediate::message() of the stripes that may come
    std::uint8_t arrived = 0;         ///< bit i: stripe i of this generation
    std::uint8_t generation = 0;
    bool done = false;
    bool early = false;             ///< filled by a message that came before its permission
    std::uint32_t received = 0;     ///< bytes
    std::uint16_t early_limit = 0;  ///< an early message that fills it has fewer bytes than this
    std::byte* data = nullptr;      ///< the buffer, which only the GPU may be able to reach

    /// No immediate's.
    static constexpr std::uint32_t kNothing = UINT32_MAX;
  };

  std::uint8_t count = 0;  ///< buffers of this receive
  /// The caller need not know when the data is there, and there is one rail only: with more, a sender one of whose
  /// writes has failed asks what has come, and must not wait for an answer from a process that has nothing left to call
  /// us for.
  bool optional = false;
  /// What keeps it from being done.
  struct Open {
    std::uint8_t remaining = 0;  ///< buffers not yet filled
    bool unwritten = false;      ///< its entries must be written (again)
    std::uint8_t in_flight = 0;  ///< writes of entries that have not ended
    bool draining = false;       ///< a write has failed; nothing may be written until `drained`

    bool any() const noexcept { return std::bit_cast<std::uint32_t>(*this) != 0; }
  } open;
  std::uint8_t attempts = 0;  ///< writes of its entries that have failed for a path's sake
  std::uint32_t sequence = 0;
  std::uint32_t deregistrations = 0;  ///< Device::deregistrations() when it was posted
  Clock::time_point drained;
  RecvRequest* following = nullptr;  ///< the next in the ring
  std::array<Sub, kMaxGroup> subs;
};

// What a connection costs (PROTOCOL.md, "Resources").
static_assert(sizeof(SendRequest) * kSendRequests <= 28 * 1024 && sizeof(RecvRequest) * kRecvRequests <= 8 * 1024);

}  // namespace weft::rdma
