// Version 2 of NCCL's environment plugin ABI (NCCL 2.30): Weft's own declaration of ncclEnv_v2_t (plugin/env/env_v2.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "weft/nccl/net_common.h"

namespace weft::nccl {

/// As v1, with NCCL's log.
struct ncclEnv_v2_t {
  const char* name;
  ncclResult_t (*init)(std::uint8_t major, std::uint8_t minor, std::uint8_t patch, const char* suffix,
                       ncclDebugLogger_t logger);
  ncclResult_t (*finalize)();
  const char* (*getEnv)(const char* name);
};

static_assert(sizeof(ncclEnv_v2_t) == 32);
static_assert(offsetof(ncclEnv_v2_t, getEnv) == 24);
static_assert(std::is_standard_layout_v<ncclEnv_v2_t>);

}  // namespace weft::nccl
