// How often a thread asks for memory.
#pragma once

#include <cstdint>

namespace weft::test {

/// Counts this thread's calls of malloc and its family, and so of operator new, since it was made. The whole process is
/// counted, libraries included, by functions of the same names in the test program (alloc_counter.cc).
class AllocCounter {
 public:
  /// False under sanitizers and on C libraries other than glibc: then count() stays 0.
  static bool works() noexcept;

  AllocCounter() noexcept : start_(so_far()) {}
  std::uint64_t count() const noexcept { return so_far() - start_; }

 private:
  static std::uint64_t so_far() noexcept;

  std::uint64_t start_;
};

}  // namespace weft::test
