// How often a thread takes a lock of pthread's.
#pragma once

#include <cstdint>

namespace weft::test {

/// Counts this thread's calls of pthread_mutex_lock, pthread_mutex_trylock and the two of rwlocks, and so of std::mutex
/// and std::shared_mutex, since it was made. Weft's SpinLock counts itself.
class LockCounter {
 public:
  /// False under sanitizers and on C libraries other than glibc: then count() stays 0.
  static bool works() noexcept;

  LockCounter() noexcept : start_(so_far()) {}
  std::uint64_t count() const noexcept { return so_far() - start_; }

 private:
  static std::uint64_t so_far() noexcept;

  std::uint64_t start_;
};

}  // namespace weft::test
