// The requests of a communicator: a fixed ring that never grows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace weft {

class Comm;

enum class RequestKind : std::uint8_t { kSend, kReceive };
enum class RequestState : std::uint8_t {
  kFree,      ///< nobody's
  kPending,   ///< the caller's; operations are in flight or still to be posted
  kDone,      ///< the caller's; to be given back by test()
  kDetached,  ///< given back already (optional completion); operations are still in flight
};

/// A fixed ring of requests, filled strictly in order: a slot still in use stops it. The transports' proofs rely on
/// that.
template <class T, std::size_t kSlots>
class RequestRing {
 public:
  explicit RequestRing(Comm& comm) noexcept {
    T* following = &slots_.front();
    for (std::size_t i = kSlots; i-- > 0; following = &slots_[i]) {
      slots_[i].comm = &comm;
      slots_[i].following = following;
    }
  }

  RequestRing(const RequestRing&) = delete;
  RequestRing& operator=(const RequestRing&) = delete;

  /// The next slot, or nullptr while it is in use. It stays free until commit().
  T* next() noexcept { return next_->state == RequestState::kFree ? next_ : nullptr; }
  void commit() noexcept { next_ = next_->following; }

  std::array<T, kSlots>& slots() noexcept { return slots_; }
  const std::array<T, kSlots>& slots() const noexcept { return slots_; }

 private:
  std::array<T, kSlots> slots_;
  T* next_ = slots_.data();
};

}  // namespace weft
