#pragma once

#include <cstdio>
#include <cstdlib>

namespace weft::lab {

// Ends this rank's process, with the reason on stderr. The parent ends the others.
[[noreturn]] inline void fail(const char* what, const char* why) {
  fprintf(stderr, "weft-nccl-test: %s: %s\n", what, why);
  fflush(nullptr);  // NCCL's log
  _Exit(1);
}

inline void expect(bool condition, const char* what) {
  if (!condition) fail("does not hold", what);
}

}  // namespace weft::lab
