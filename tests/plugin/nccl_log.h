// What the plugin says through NCCL's logger, kept for the test that caused it.
#pragma once

#include <string>
#include <vector>

#include "weft/nccl/net_common.h"

namespace weft::test {

struct LogLine {
  nccl::ncclDebugLogLevel level;
  unsigned long flags;
  std::string text;
};

/// The logger to hand to init(). Thread safe; lines go to one list per process.
nccl::ncclDebugLogger_t capturing_logger();

/// A copy of all lines since the last clear_log().
std::vector<LogLine> captured_log();
void clear_log();

/// The lines at WARN that contain `text`.
std::vector<std::string> warnings_with(const std::string& text);

/// The test expects a warning that contains `text`: it is taken off the list. A failure of the test if there is none.
void expect_warning(const std::string& text);
/// The same for all of them; at least one.
void expect_warnings(const std::string& text);
/// A failure of the test for every warning still on the list.
void expect_no_other_warnings();

}  // namespace weft::test
