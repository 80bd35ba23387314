// The CUDA driver, looked up at run time: driver entry points only, never the runtime library. Absent on machines
// without a GPU, which is not an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "weft/result.h"

namespace weft::fabric {

/// Thread safe after open().
class CudaDriver {
 public:
  /// Looks for `name` (libcuda.so.1) and at least one device; nullopt where there is none. Never fails loudly: a
  /// machine without a GPU is a normal machine. The reason is logged at INFO.
  static std::optional<CudaDriver> open(const char* name = "libcuda.so.1");

  int device_count() const noexcept { return device_count_; }

  /// The ordinal of the device that owns the memory at `pointer`; an error for memory that is not CUDA's.
  Result<int> device_of(const void* pointer) const;

  /// True where the driver can itself order a NIC's writes before the GPU's reads (GPU_DIRECT_RDMA_FLUSH_WRITES).
  bool can_flush(int device) const noexcept;

  /// Makes writes that have reached the GPU visible to it. The device's primary context is made current for the call.
  Status flush_writes(int device) const noexcept;

  /// Makes `device`'s primary context current on this thread for the life of the scope, and restores what was there:
  /// a registration without a current context fails in the provider with an unhelpful error.
  class [[nodiscard]] ContextScope {
   public:
    ContextScope(const CudaDriver& driver, int device) noexcept;
    ~ContextScope();
    ContextScope(const ContextScope&) = delete;
    ContextScope& operator=(const ContextScope&) = delete;
    bool current() const noexcept { return pushed_; }

   private:
    const CudaDriver& driver_;
    int device_;
    bool retained_ = false;
    bool pushed_ = false;
  };

 private:
  // The CUDA driver API's types: CUresult and CUdevice are ints, contexts are opaque pointers (cuda.h).
  struct Functions {
    int (*init)(unsigned) = nullptr;
    int (*device_get_count)(int*) = nullptr;
    int (*device_get)(int*, int) = nullptr;
    int (*device_get_attribute)(int*, int, int) = nullptr;
    int (*pointer_get_attribute)(void*, int, std::uint64_t) = nullptr;
    int (*primary_ctx_retain)(void**, int) = nullptr;
    int (*primary_ctx_release)(int) = nullptr;
    int (*ctx_push_current)(void*) = nullptr;
    int (*ctx_pop_current)(void**) = nullptr;
    int (*flush_gpu_direct_rdma_writes)(int, int) = nullptr;  ///< CUDA 11.3 and newer; may be null
  };

  CudaDriver(const Functions& functions, int device_count) : functions_(functions), device_count_(device_count) {}

  Functions functions_;
  int device_count_;
};

}  // namespace weft::fabric
