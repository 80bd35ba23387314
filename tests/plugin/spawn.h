// This test program once more, as another process.
#pragma once

#include <sys/types.h>

namespace weft::test {

/// Starts it with one argument, by which its main() knows what to do. A pipe leads to its standard input or from its
/// standard output (`descriptor`); the other end is `*pipe_end`, for the caller to close. Returns the process, or -1
/// and a failed test.
pid_t spawn_self(const char* argument, int descriptor, int* pipe_end);

}  // namespace weft::test
