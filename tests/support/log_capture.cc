#include "tests/support/log_capture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

namespace weft::test {
namespace {

std::atomic<LogCapture*> innermost{nullptr};

}  // namespace

LogCapture::LogCapture() : previous_sink_(log::set_sink(&LogCapture::sink)), previous_(innermost.exchange(this)) {}

LogCapture::~LogCapture() {
  innermost = previous_;
  log::set_sink(previous_sink_);
  for (const Line& line : lines_) {
    if (line.level != log::Level::kWarn) continue;
    bool right = false;
    for (Expected& expected : expected_) {
      if (line.text.find(expected.part) == std::string::npos) continue;
      right = true;
      expected.came = true;
    }
    if (!right) ADD_FAILURE() << "unexpected warning: " << line.text;
  }
  for (const Expected& expected : expected_) {
    if (!expected.came) ADD_FAILURE() << "a warning never came: " << expected.part;
  }
}

LogCapture& LogCapture::current() { return *innermost.load(); }

void LogCapture::expect_warning(std::string part) {
  const std::lock_guard guard(mutex_);
  expected_.push_back({std::move(part)});
}

std::vector<LogCapture::Line> LogCapture::lines() const {
  const std::lock_guard guard(mutex_);
  return lines_;
}

bool LogCapture::has(log::Level level, std::string_view part) const {
  const std::lock_guard guard(mutex_);
  return std::ranges::any_of(
      lines_, [&](const Line& line) { return line.level == level && line.text.find(part) != std::string::npos; });
}

void LogCapture::sink(log::Level level, const char*, int, const char* text) noexcept {
  LogCapture* const self = innermost.load();
  if (self == nullptr) return;
  const std::lock_guard guard(self->mutex_);
  self->lines_.push_back({level, text});
}

}  // namespace weft::test
