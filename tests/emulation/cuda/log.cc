#include "tests/emulation/cuda/log.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace weft::emulation {

int trace_level() {
  static const int level = [] {
    const char* text = getenv("WEFT_LAB_CUDA_TRACE");
    return text != nullptr ? atoi(text) : 0;
  }();
  return level;
}

void log(int level, const char* format, ...) {
  if (level > trace_level()) return;
  char line[1024];
  const int room = sizeof line - 1;
  int length = snprintf(line, sizeof line, "emulated CUDA[%d:%ld] ", getpid(), syscall(SYS_gettid));
  va_list arguments;
  va_start(arguments, format);
  length += vsnprintf(line + length, room - length, format, arguments);
  va_end(arguments);
  length = std::min(length, room - 1);
  line[length++] = '\n';
  // One write, so that the lines of several processes do not mix.
  if (write(STDERR_FILENO, line, length) < 0) return;
}

}  // namespace weft::emulation
