// NCCL's logger as the sink of Weft's log.
#pragma once

#include "weft/nccl/net_common.h"

namespace weft::plugin {

/// From now on every line goes to `logger`; nullptr: back to standard error. Thread safe. NCCL owns the logger and may
/// unload it after the last communicator is gone, so it must be let go then.
void set_nccl_logger(nccl::ncclDebugLogger_t logger) noexcept;

}  // namespace weft::plugin
