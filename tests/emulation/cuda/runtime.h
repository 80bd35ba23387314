#pragma once

#if __has_include(<cuda.h>)

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "tests/emulation/cuda/entry.h"

// What the entry points of the emulated libcudart.so.13 share. It stands on the driver's entry points alone, as the
// real one does.
namespace weft::emulation {

// The calling thread's device.
int current_device();
void set_current_device(int device);
// Makes the device's primary context current in the calling thread.
void bind_device();

// The runtime's errors have the driver's numbers. Keeps the error for cudaGetLastError.
cudaError_t runtime_result(CUresult result);
cudaError_t take_last_error(bool clear);

inline CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }
inline CUdeviceptr* address_of(void** pointer) { return reinterpret_cast<CUdeviceptr*>(pointer); }

}  // namespace weft::emulation

// A driver call in the calling thread's context.
#define WEFT_DRIVER(call) (::weft::emulation::bind_device(), ::weft::emulation::runtime_result(call))

#endif
