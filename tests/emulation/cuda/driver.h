#pragma once

#if __has_include(<cuda.h>)

// cuda.h declares every version of an entry point under its own name, and renames nothing.
#define __CUDA_API_VERSION_INTERNAL 1
#include <cuda.h>

#include "tests/emulation/cuda/context.h"
#include "tests/emulation/cuda/entry.h"
#include "tests/emulation/cuda/settings.h"
#include "tests/emulation/cuda/status.h"
#include "tests/emulation/cuda/stream.h"

// What the entry points of the emulated libcuda.so.1 share: CUDA's handles are addresses of ours.
namespace weft::emulation {

constexpr int kDriverVersion = 13000;

inline CUresult result(Status status) { return static_cast<CUresult>(status); }
inline bool device_exists(CUdevice device) {
  return device >= 0 && static_cast<size_t>(device) < settings().visible.size();
}
inline Context* context_of(CUcontext handle) { return reinterpret_cast<Context*>(handle); }
inline void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

// The stream of a handle; nullptr for stream 0 without a current context.
inline Stream* stream_of(CUstream handle) {
  if (handle != nullptr && handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD) {
    return reinterpret_cast<Stream*>(handle);
  }
  Context* context = current_context();
  return context != nullptr ? context->legacy_stream() : nullptr;
}

}  // namespace weft::emulation

#endif
