#pragma once

#if __has_include(<nccl.h>)

#include <cuda_runtime_api.h>
#include <nccl.h>

#include "tests/lab/check.h"

namespace weft::lab {

inline void ok(ncclResult_t result, const char* call) {
  if (result != ncclSuccess) fail(call, ncclGetErrorString(result));
}
inline void ok(cudaError_t error, const char* call) {
  if (error != cudaSuccess) fail(call, cudaGetErrorString(error));
}

}  // namespace weft::lab

// A call that must succeed.
#define WEFT_OK(call) ::weft::lab::ok(call, #call)

#endif
