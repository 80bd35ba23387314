// The one lock of the data path. It counts itself, so that tests and statistics can see what it costs.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "weft/thread_annotations.h"

namespace weft {

/// A test-and-test-and-set lock for critical sections of a few hundred nanoseconds. After a short spin it yields,
/// so that a preempted owner gets its core back on machines with fewer cores than threads.
class WEFT_CAPABILITY("mutex") SpinLock {
 public:
  void lock() noexcept WEFT_ACQUIRE() {
    if (locked_.exchange(true, std::memory_order_acquire)) [[unlikely]]
      wait();
    ++acquired_;
  }
  void unlock() noexcept WEFT_RELEASE() { locked_.store(false, std::memory_order_release); }

  /// How often the lock was taken. Read it while holding the lock, or when nobody else can take it.
  std::uint64_t acquired() const noexcept { return acquired_; }
  /// How often somebody had to wait for it. May be read at any time.
  std::uint64_t contended() const noexcept { return contended_.load(std::memory_order_relaxed); }

 private:
  [[gnu::noinline, gnu::cold]] void wait() noexcept {
    contended_.fetch_add(1, std::memory_order_relaxed);
    for (unsigned spins = 0;; ++spins) {
      if (!locked_.load(std::memory_order_relaxed) && !locked_.exchange(true, std::memory_order_acquire)) return;
      if (spins % kSpinsBeforeYield == kSpinsBeforeYield - 1) sched_yield();
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
  }

  static constexpr unsigned kSpinsBeforeYield = 128;
  std::atomic<bool> locked_{false};
  std::uint64_t acquired_ = 0;
  std::atomic<std::uint64_t> contended_{0};
};

class WEFT_SCOPED_CAPABILITY SpinGuard {
 public:
  explicit SpinGuard(SpinLock& lock) noexcept WEFT_ACQUIRE(lock) : lock_(lock) { lock_.lock(); }
  ~SpinGuard() WEFT_RELEASE() { lock_.unlock(); }
  SpinGuard(const SpinGuard&) = delete;
  SpinGuard& operator=(const SpinGuard&) = delete;

 private:
  SpinLock& lock_;
};

}  // namespace weft
