// What NCCL holds as a request: one isend, or one irecv of up to eight buffers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "transports/fabric/operation.h"
#include "transports/sendrecv/window.h"

namespace weft::sendrecv {

class Comm;

enum class RequestKind : std::uint8_t { kSend, kReceive };
enum class RequestState : std::uint8_t {
  kFree,      ///< nobody's
  kPending,   ///< the caller's; operations are in flight or still to be posted
  kDone,      ///< the caller's; to be given back by test()
  kDetached,  ///< given back already (optional completion); operations are still in flight
};

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
  std::uint64_t tag = 0;             ///< as on the wire, for messages about it
  SendRequest* following = nullptr;  ///< the next in the ring
};

struct RecvRequest : Request {
  struct alignas(64) Sub {
    Sub() noexcept : operation(fabric::OperationKind::kReceive, 0, nullptr) {}
    fabric::Operation operation;
    void* data = nullptr;
    void* descriptor = nullptr;
    std::size_t size = 0;
    std::size_t received = 0;
    std::uint64_t tag = 0;  ///< as on the wire
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

/// A fixed ring of requests, filled strictly in order: a slot still in use stops it. window.h relies on that.
template <class T, std::size_t N>
class RequestRing {
 public:
  explicit RequestRing(Comm& comm) noexcept {
    T* following = &slots_.front();
    for (std::size_t i = N; i-- > 0; following = &slots_[i]) {
      slots_[i].comm = &comm;
      slots_[i].following = following;
    }
  }

  RequestRing(const RequestRing&) = delete;
  RequestRing& operator=(const RequestRing&) = delete;

  /// The next slot, or nullptr while it is in use. It stays free until commit().
  T* next() noexcept { return next_->state == RequestState::kFree ? next_ : nullptr; }
  void commit() noexcept { next_ = next_->following; }

  std::array<T, N>& slots() noexcept { return slots_; }

 private:
  std::array<T, N> slots_;
  T* next_ = slots_.data();
};

}  // namespace weft::sendrecv
