#include "transports/connection/gpu_flush.h"

#include "transports/connection/mr_cache.h"

namespace weft {

Status flush_gpu_writes(const fabric::CudaDriver* cuda, int count, const int* sizes, void* const* memory) noexcept {
  if (cuda == nullptr || memory == nullptr) return {};
  for (int i = 0; i < count; ++i) {
    const auto* handle = static_cast<const MemoryHandle*>(memory[i]);
    if (sizes[i] == 0 || handle == nullptr || handle->pointer_kind == kPointerHost) continue;
    // One flush orders everything that has reached that GPU.
    return cuda->flush_writes(handle->cuda_device);
  }
  return {};
}

}  // namespace weft
