// NCCL's environment plugin: how Weft's defaults reach NCCL without a change to the process's environment. NCCL asks
// it for every variable when NCCL_ENV_PLUGIN=weft is set.
#pragma once

#include <cstdint>

#include "weft/nccl/env_v1.h"
#include "weft/nccl/env_v2.h"

namespace weft::plugin {

inline constexpr const char* kEnvName = "Weft";

/// Looks at the machine and keeps what NCCL should be told. Never fails: on a machine that cannot be read NCCL goes on
/// with the process's environment alone, and one warning says why.
nccl::ncclResult_t env_init(std::uint8_t major, std::uint8_t minor, std::uint8_t patch, const char* suffix) noexcept;
nccl::ncclResult_t env_init_logged(std::uint8_t major, std::uint8_t minor, std::uint8_t patch, const char* suffix,
                                   nccl::ncclDebugLogger_t logger) noexcept;
nccl::ncclResult_t env_finalize() noexcept;

/// What the user has set; else Weft's default; else null. Thread safe after init.
const char* env_get(const char* name) noexcept;

}  // namespace weft::plugin
