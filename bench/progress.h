// One line on a terminal that says what is being measured; nothing where nobody watches.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <string>

namespace weft::bench {

class Progress {
 public:
  /// Silent unless `wanted` and standard error is a terminal.
  explicit Progress(bool wanted) : on_(wanted && isatty(STDERR_FILENO) == 1) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(const std::string& line) {
    if (!on_) return;
    std::fprintf(stderr, "\r\033[K%s", line.c_str());
    std::fflush(stderr);
    shown_ = true;
  }

  /// To be called before anything else is printed.
  void clear() {
    if (!shown_) return;
    std::fprintf(stderr, "\r\033[K");
    std::fflush(stderr);
    shown_ = false;
  }

 private:
  bool on_;
  bool shown_ = false;
};

}  // namespace weft::bench
