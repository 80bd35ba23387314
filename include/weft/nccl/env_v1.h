// Version 1 of NCCL's environment plugin ABI (NCCL 2.28): Weft's own declaration of ncclEnv_v1_t (plugin/env/env_v1.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "weft/nccl/net_common.h"

namespace weft::nccl {

struct ncclEnv_v1_t {
  const char* name;
  ncclResult_t (*init)(std::uint8_t major, std::uint8_t minor, std::uint8_t patch, const char* suffix);
  ncclResult_t (*finalize)();
  /// The value stays as it is until finalize. Null: not set. Called from any thread.
  const char* (*getEnv)(const char* name);
};

static_assert(sizeof(ncclEnv_v1_t) == 32);
static_assert(offsetof(ncclEnv_v1_t, getEnv) == 24);
static_assert(std::is_standard_layout_v<ncclEnv_v1_t>);

}  // namespace weft::nccl
