#include "tests/support/lock_counter.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>

#include "tests/support/sanitizers.h"

#if defined(__GLIBC__) && !defined(WEFT_TEST_SANITIZED)
#define WEFT_TEST_COUNTS_LOCKS 1
#endif

namespace weft::test {
namespace {

thread_local std::uint64_t locks = 0;

}  // namespace

std::uint64_t LockCounter::so_far() noexcept { return locks; }

bool LockCounter::works() noexcept {
#if defined(WEFT_TEST_COUNTS_LOCKS)
  return true;
#else
  return false;
#endif
}

}  // namespace weft::test

#if defined(WEFT_TEST_COUNTS_LOCKS)

namespace {

/// The function that a name of ours hides. Found anew by every thread that comes first: a guard could need a lock.
template <class F>
F* hidden(std::atomic<F*>& known, const char* name) noexcept {
  F* function = known.load(std::memory_order_acquire);
  if (function == nullptr) {
    function = reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
    known.store(function, std::memory_order_release);
  }
  return function;
}

std::atomic<int (*)(pthread_mutex_t*)> real_lock{nullptr};
std::atomic<int (*)(pthread_mutex_t*)> real_trylock{nullptr};
std::atomic<int (*)(pthread_rwlock_t*)> real_rdlock{nullptr};
std::atomic<int (*)(pthread_rwlock_t*)> real_wrlock{nullptr};

}  // namespace

extern "C" {

#define WEFT_TEST_EXPORT __attribute__((visibility("default")))

WEFT_TEST_EXPORT int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  ++weft::test::locks;
  return hidden(real_lock, "pthread_mutex_lock")(mutex);
}
WEFT_TEST_EXPORT int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  ++weft::test::locks;
  return hidden(real_trylock, "pthread_mutex_trylock")(mutex);
}
WEFT_TEST_EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  ++weft::test::locks;
  return hidden(real_rdlock, "pthread_rwlock_rdlock")(lock);
}
WEFT_TEST_EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  ++weft::test::locks;
  return hidden(real_wrlock, "pthread_rwlock_wrlock")(lock);
}
}

#endif
