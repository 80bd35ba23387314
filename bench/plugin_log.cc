#include "bench/plugin_log.h"

#include <strings.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>

#include "bench/text.h"

namespace weft::bench {
namespace {

struct LevelName {
  const char* name;
  nccl::ncclDebugLogLevel level;
};

constexpr LevelName kLevels[] = {
    {"NONE", nccl::NCCL_LOG_NONE}, {"VERSION", nccl::NCCL_LOG_VERSION}, {"WARN", nccl::NCCL_LOG_WARN},
    {"INFO", nccl::NCCL_LOG_INFO}, {"ABORT", nccl::NCCL_LOG_ABORT},     {"TRACE", nccl::NCCL_LOG_TRACE},
};

// The ABI's logger carries no context, so what it needs to know is the process's.
int log_rank = 0;
nccl::ncclDebugLogLevel log_level = nccl::NCCL_LOG_WARN;

const char* name_of(nccl::ncclDebugLogLevel level) {
  for (const LevelName& each : kLevels) {
    if (each.level == level) return each.name;
  }
  return "LOG";
}

[[gnu::format(printf, 5, 6)]] void log_line(nccl::ncclDebugLogLevel level, unsigned long /*flags*/, const char* file,
                                            int line, const char* format, ...) {
  if (level > log_level) return;
  char message[2048];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  char output[2304];
  const int size =
      level == nccl::NCCL_LOG_TRACE && file != nullptr
          ? std::snprintf(output, sizeof output, "[%d] %s %s:%d %s\n", log_rank, name_of(level), file, line, message)
          : std::snprintf(output, sizeof output, "[%d] %s %s\n", log_rank, name_of(level), message);
  // One system call per line keeps the lines of many ranks apart. A log that cannot be written is no reason to stop.
  if (size > 0 && write(STDERR_FILENO, output, std::min(static_cast<std::size_t>(size), sizeof output - 1)) < 0) return;
}

}  // namespace

Result<nccl::ncclDebugLogLevel> parse_log_level(const std::string& input) {
  for (const LevelName& each : kLevels) {
    if (strcasecmp(each.name, input.c_str()) == 0) return each.level;
  }
  return fail(Code::kArgument, text("'%s' is not a log level: use NONE, VERSION, WARN, INFO or TRACE", input.c_str()));
}

void configure_plugin_log(int rank, nccl::ncclDebugLogLevel level) {
  log_rank = rank;
  log_level = level;
}

nccl::ncclDebugLogger_t plugin_logger() { return &log_line; }

}  // namespace weft::bench
