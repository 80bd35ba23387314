#include "tests/support/alloc_counter.h"

#include <cstddef>
#include <cstdlib>

#include "tests/support/sanitizers.h"

#if defined(__GLIBC__) && !defined(WEFT_TEST_SANITIZED)
#define WEFT_TEST_COUNTS_ALLOCATIONS 1
#endif

namespace weft::test {
namespace {

thread_local std::uint64_t allocations = 0;

}  // namespace

std::uint64_t AllocCounter::so_far() noexcept { return allocations; }

bool AllocCounter::works() noexcept {
#if defined(WEFT_TEST_COUNTS_ALLOCATIONS)
  return true;
#else
  return false;
#endif
}

}  // namespace weft::test

#if defined(WEFT_TEST_COUNTS_ALLOCATIONS)

// glibc documents the replacement of malloc by functions of the same names (its manual, "Replacing malloc"), and
// exports its own under these.
extern "C" {
// NOLINTBEGIN(readability-identifier-naming): glibc's names
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);
// NOLINTEND(readability-identifier-naming)

#define WEFT_TEST_EXPORT __attribute__((visibility("default")))

WEFT_TEST_EXPORT void* malloc(std::size_t size) {
  ++weft::test::allocations;
  return __libc_malloc(size);
}
WEFT_TEST_EXPORT void* calloc(std::size_t count, std::size_t size) {
  ++weft::test::allocations;
  return __libc_calloc(count, size);
}
WEFT_TEST_EXPORT void* realloc(void* old, std::size_t size) {
  ++weft::test::allocations;
  return __libc_realloc(old, size);
}
WEFT_TEST_EXPORT void* memalign(std::size_t alignment, std::size_t size) {
  ++weft::test::allocations;
  return __libc_memalign(alignment, size);
}
WEFT_TEST_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t size) {
  ++weft::test::allocations;
  return __libc_memalign(alignment, size);
}
WEFT_TEST_EXPORT int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
  ++weft::test::allocations;
  *out = __libc_memalign(alignment, size);
  return *out != nullptr ? 0 : 12;  // ENOMEM; errno itself is not touched here
}
WEFT_TEST_EXPORT void free(void* old) { __libc_free(old); }
}

#endif
