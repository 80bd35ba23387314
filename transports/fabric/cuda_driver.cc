#include "transports/fabric/cuda_driver.h"

#include <dlfcn.h>

#include <cstdio>

#include "weft/log.h"

namespace weft::fabric {
namespace {

// The CUDA driver API's numbers (cuda.h; they are part of its ABI).
constexpr int kSuccess = 0;                    // CUDA_SUCCESS
constexpr int kPointerMemoryType = 2;          // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
constexpr int kPointerDeviceOrdinal = 9;       // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
constexpr unsigned kHostMemory = 1;            // CU_MEMORYTYPE_HOST
constexpr int kDeviceFlushOptions = 117;       // CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS
constexpr int kFlushOptionHost = 1;            // CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST
constexpr int kFlushTargetCurrentContext = 0;  // CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX
constexpr int kFlushToOwner = 100;             // CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER

template <class F>
bool load(void* library, const char* symbol, F& function) {
  function = reinterpret_cast<F>(dlsym(library, symbol));
  return function != nullptr;
}

Error call_error(const char* call, int rc, int device) {
  return {
      Code::kSystem, rc,
      std::string(call) + " failed on CUDA device " + std::to_string(device) + ": CUDA error " + std::to_string(rc)};
}

}  // namespace

std::optional<CudaDriver> CudaDriver::open(const char* name) {
  // Never closed: the driver starts threads, and NCCL holds it for as long as the process lives anyway.
  void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = dlerror();
    WEFT_INFO("no CUDA driver: %s", why != nullptr ? why : name);
    return std::nullopt;
  }
  Functions functions;
  // The names behind the macros of cuda.h: the plain ones are older functions with other contexts.
  const bool complete = load(library, "cuInit", functions.init) &&
                        load(library, "cuDeviceGetCount", functions.device_get_count) &&
                        load(library, "cuDeviceGet", functions.device_get) &&
                        load(library, "cuDeviceGetAttribute", functions.device_get_attribute) &&
                        load(library, "cuPointerGetAttribute", functions.pointer_get_attribute) &&
                        load(library, "cuDevicePrimaryCtxRetain", functions.primary_ctx_retain) &&
                        load(library, "cuDevicePrimaryCtxRelease_v2", functions.primary_ctx_release) &&
                        load(library, "cuCtxPushCurrent_v2", functions.ctx_push_current) &&
                        load(library, "cuCtxPopCurrent_v2", functions.ctx_pop_current);
  if (!complete) {
    WEFT_INFO("no CUDA driver: %s lacks a function of CUDA 11", name);
    return std::nullopt;
  }
  load(library, "cuFlushGPUDirectRDMAWrites", functions.flush_gpu_direct_rdma_writes);
  if (const int rc = functions.init(0); rc != kSuccess) {
    WEFT_INFO("no CUDA devices: cuInit failed: CUDA error %d", rc);
    return std::nullopt;
  }
  int count = 0;
  if (const int rc = functions.device_get_count(&count); rc != kSuccess || count <= 0) {
    WEFT_INFO("no CUDA devices: cuDeviceGetCount says %d (CUDA error %d)", count, rc);
    return std::nullopt;
  }
  return CudaDriver(functions, count);
}

Result<int> CudaDriver::device_of(const void* pointer) const {
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  unsigned type = 0;
  int device = -1;
  int rc = functions_.pointer_get_attribute(&type, kPointerMemoryType, address);
  if (rc == kSuccess) rc = functions_.pointer_get_attribute(&device, kPointerDeviceOrdinal, address);
  // Host memory that was pinned through CUDA has a device too, but no GPU holds it.
  if (rc != kSuccess || type == kHostMemory || device < 0 || device >= device_count_) {
    char text[128];
    std::snprintf(text, sizeof text, "%p is not memory of a CUDA device (CUDA error %d, memory type %u, device %d)",
                  pointer, rc, type, device);
    return fail(Code::kArgument, rc, text);
  }
  return device;
}

bool CudaDriver::can_flush(int device) const noexcept {
  int handle = 0;
  int options = 0;
  return functions_.flush_gpu_direct_rdma_writes != nullptr && functions_.device_get(&handle, device) == kSuccess &&
         functions_.device_get_attribute(&options, kDeviceFlushOptions, handle) == kSuccess &&
         (options & kFlushOptionHost) != 0;
}

Status CudaDriver::flush_writes(int device) const noexcept {
  if (functions_.flush_gpu_direct_rdma_writes == nullptr) {
    return fail(Code::kUsage, "the CUDA driver has no cuFlushGPUDirectRDMAWrites: it is older than CUDA 11.3");
  }
  const ContextScope context(*this, device);
  if (!context.current()) {
    return fail(Code::kSystem, "the context of CUDA device " + std::to_string(device) + " cannot be made current");
  }
  const int rc = functions_.flush_gpu_direct_rdma_writes(kFlushTargetCurrentContext, kFlushToOwner);
  if (rc != kSuccess) return std::unexpected(call_error("cuFlushGPUDirectRDMAWrites", rc, device));
  return {};
}

CudaDriver::ContextScope::ContextScope(const CudaDriver& driver, int device) noexcept : driver_(driver), device_(-1) {
  const Functions& functions = driver_.functions_;
  if (functions.device_get(&device_, device) != kSuccess) return;
  void* context = nullptr;
  retained_ = functions.primary_ctx_retain(&context, device_) == kSuccess;
  pushed_ = retained_ && functions.ctx_push_current(context) == kSuccess;
}

CudaDriver::ContextScope::~ContextScope() {
  void* context = nullptr;
  if (pushed_) driver_.functions_.ctx_pop_current(&context);
  if (retained_) driver_.functions_.primary_ctx_release(device_);
}

}  // namespace weft::fabric
