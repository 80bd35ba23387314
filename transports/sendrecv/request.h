// What NCCL holds as a request: one isend, or one irecv of up to eight buffers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "transports/connection/request_ring.h"
#include "transports/fabric/operation.h"
#include "transports/sendrecv/window.h"

namespace weft {
class Comm;
struct MemoryHandle;
}  // namespace weft

namespace weft::sendrecv {

struct Request {
  Comm* comm = nullptr;
  RequestKind kind;
  RequestState state = RequestState::kFree;

  explicit Request(RequestKind kind) noexcept : kind(kind) {}
};

struct SendRequest : Request {
  SendRequest() noexcept : Request(RequestKind::kSend), operation(fabric::OperationKind::kSend, 0, this) {}

  fabric::Operation operation;
  std::size_t size = 0;
  std::uint64_t tag = 0;                 ///< as on the wire, for messages about it
  const MemoryHandle* memory = nullptr;  ///< of its buffer, while pending; only compared
  SendRequest* following = nullptr;      ///< the next in the ring
};

struct RecvRequest : Request {
  struct alignas(64) Sub {
    Sub() noexcept : operation(fabric::OperationKind::kReceive, 0, nullptr) {}
    fabric::Operation operation;
    void* data = nullptr;
    void* descriptor = nullptr;
    std::size_t size = 0;
    std::size_t received = 0;
    std::uint64_t tag = 0;                 ///< as on the wire
    const MemoryHandle* memory = nullptr;  ///< of its buffer, until its message is there; only compared
  };

  RecvRequest() noexcept : Request(RequestKind::kReceive) {
    for (std::size_t i = 0; i < kMaxGroup; ++i) {
      subs[i].operation.owner = this;
      subs[i].operation.index = static_cast<std::uint8_t>(i);
    }
  }

  std::uint8_t count = 0;            ///< buffers of this receive
  std::uint8_t posted = 0;           ///< of them, handed to the provider
  std::uint8_t remaining = 0;        ///< of them, not yet received
  bool optional = false;             ///< the caller need not know when the data is there
  RecvRequest* following = nullptr;  ///< the next in the ring
  std::array<Sub, kMaxGroup> subs;
};

}  // namespace weft::sendrecv
