// What Weft says during a test. A warning that the test does not expect fails it.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "weft/log.h"

namespace weft::test {

/// Takes the log over for its life; the inner one of two hears everything. Every test of a program with main.cc runs
/// inside one, which current() names. Thread safe.
class LogCapture {
 public:
  struct Line {
    log::Level level;
    std::string text;
  };

  LogCapture();
  /// Fails the test for each warning that nobody expected, and for each expected one that never came.
  ~LogCapture();
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  /// The innermost one; there must be one.
  static LogCapture& current();

  /// One or more warnings with `part` in them are right, and at least one must come before the end.
  void expect_warning(std::string part);

  std::vector<Line> lines() const;
  /// True if a line of that level has `part` in it.
  bool has(log::Level level, std::string_view part) const;

 private:
  struct Expected {
    std::string part;
    bool came = false;
  };

  static void sink(log::Level level, const char* file, int line, const char* text) noexcept;

  log::Sink previous_sink_;
  LogCapture* previous_;
  mutable std::mutex mutex_;
  std::vector<Line> lines_;
  std::vector<Expected> expected_;
};

}  // namespace weft::test
