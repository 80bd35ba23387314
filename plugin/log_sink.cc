#include "plugin/log_sink.h"

#include <atomic>

#include "weft/log.h"

namespace weft::plugin {
namespace {

constinit std::atomic<nccl::ncclDebugLogger_t> current_logger{nullptr};

nccl::ncclDebugLogLevel level_of(log::Level level) noexcept {
  switch (level) {
    case log::Level::kWarn: return nccl::NCCL_LOG_WARN;
    case log::Level::kInfo: return nccl::NCCL_LOG_INFO;
    case log::Level::kTrace: return nccl::NCCL_LOG_TRACE;
  }
  return nccl::NCCL_LOG_INFO;
}

void forward(log::Level level, const char* file, int line, const char* text) noexcept {
  const auto logger = current_logger.load(std::memory_order_acquire);
  if (logger == nullptr) {
    log::default_sink(level, file, line, text);
    return;
  }
  logger(level_of(level), nccl::NCCL_INIT | nccl::NCCL_NET, file, line, "NET/Weft: %s", text);
}

}  // namespace

void set_nccl_logger(nccl::ncclDebugLogger_t logger) noexcept {
  current_logger.store(logger, std::memory_order_release);
  log::set_sink(logger != nullptr ? &forward : nullptr);
}

}  // namespace weft::plugin
