// What a plugin logs: shown at NCCL's levels, each line with the rank in front.
#pragma once

#include <string>

#include "weft/nccl/net_common.h"
#include "weft/result.h"

namespace weft::bench {

/// "NONE", "VERSION", "WARN", "INFO", "ABORT" or "TRACE", in either case.
Result<nccl::ncclDebugLogLevel> parse_log_level(const std::string& text);

/// Sets what plugin_logger() shows. To be called before any plugin is loaded.
void configure_plugin_log(int rank, nccl::ncclDebugLogLevel level);

/// The logger that plugins are given. Thread safe; each line is one write to standard error.
nccl::ncclDebugLogger_t plugin_logger();

}  // namespace weft::bench
