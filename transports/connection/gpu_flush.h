// Making what a NIC has written into GPU memory visible to the GPU.
#pragma once

#include "transports/fabric/cuda_driver.h"
#include "weft/result.h"

namespace weft {

/// Flushes if any of the `count` buffers (their MemoryHandles in `memory`, null ones are host memory) is on a GPU and
/// has received something. `cuda` null: there is no GPU. Done when it returns. Any thread.
Status flush_gpu_writes(const fabric::CudaDriver* cuda, int count, const int* sizes, void* const* memory) noexcept;

}  // namespace weft
