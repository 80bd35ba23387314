#include "tests/plugin/nccl_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <mutex>

namespace weft::test {
namespace {

std::mutex log_mutex;
std::vector<LogLine> log_lines;

void capture(nccl::ncclDebugLogLevel level, unsigned long flags, const char* /*file*/, int /*line*/, const char* format,
             ...) {
  char text[2048];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  const std::lock_guard guard(log_mutex);
  log_lines.push_back({level, flags, text});
}

bool is_warning_with(const LogLine& line, const std::string& text) {
  return line.level == nccl::NCCL_LOG_WARN && line.text.find(text) != std::string::npos;
}

std::string whole_log() {
  std::string all = "the log:\n";
  for (const auto& line : captured_log())
    all += (line.level == nccl::NCCL_LOG_WARN ? "  WARN " : "  ") + line.text + "\n";
  return all;
}

}  // namespace

nccl::ncclDebugLogger_t capturing_logger() { return &capture; }

std::vector<LogLine> captured_log() {
  const std::lock_guard guard(log_mutex);
  return log_lines;
}

void clear_log() {
  const std::lock_guard guard(log_mutex);
  log_lines.clear();
}

std::vector<std::string> warnings_with(const std::string& text) {
  std::vector<std::string> found;
  for (const auto& line : captured_log()) {
    if (is_warning_with(line, text)) found.push_back(line.text);
  }
  return found;
}

void expect_warning(const std::string& text) {
  const std::unique_lock guard(log_mutex);
  const auto line = std::ranges::find_if(log_lines, [&](const LogLine& each) { return is_warning_with(each, text); });
  if (line != log_lines.end()) {
    log_lines.erase(line);
    return;
  }
  ADD_FAILURE() << "expected a warning with \"" << text << "\"";
}

void expect_warnings(const std::string& text) {
  const std::unique_lock guard(log_mutex);
  const auto count = std::erase_if(log_lines, [&](const LogLine& each) { return is_warning_with(each, text); });
  EXPECT_GT(count, 0U) << "expected warnings with \"" << text << "\"";
}

void expect_no_other_warnings() {
  if (!warnings_with("").empty()) ADD_FAILURE() << "unexpected warnings; " << whole_log();
}

}  // namespace weft::test
