// The hooks by which compiled objects announce their kernels, and launches.
#include <cstring>
#include <map>
#include <mutex>

#include "tests/emulation/cuda/runtime.h"

namespace {

struct Registry {
  std::mutex mutex;
  std::map<const void*, CUfunction> functions;  // by the address of the kernel's host stub
};
// Never destroyed: libraries unregister from handlers of process exit.
Registry& registry() {
  static auto& all = *new Registry;
  return all;
}

// kernel<<<grid, block, shared, stream>>>(...) pushes its configuration, the kernel's host stub pops it.
struct CallConfiguration {
  dim3 grid, block;
  size_t shared;
  void* stream;
};
constexpr int kConfigurations = 8;
thread_local CallConfiguration configurations[kConfigurations];
thread_local int configuration_count = 0;

CUfunction function_of(const void* stub) {
  const std::lock_guard lock(registry().mutex);
  const auto found = registry().functions.find(stub);
  return found != registry().functions.end() ? found->second : nullptr;
}

cudaError_t not_supported() { return weft::emulation::runtime_result(CUDA_ERROR_NOT_SUPPORTED); }

}  // namespace

// Runs while libraries are loaded: must not look at devices.
WEFT_EMULATED void** __cudaRegisterFatBinary(void* code) {
  CUlibrary library = nullptr;
  cuLibraryLoadData(&library, code, nullptr, nullptr, 0, nullptr, nullptr, 0);
  return reinterpret_cast<void**>(library);
}
WEFT_EMULATED void __cudaRegisterFatBinaryEnd(void**) {}
// The module stays: its kernels' handles may be used until the process is gone. NCCL is loaded once or twice.
WEFT_EMULATED void __cudaUnregisterFatBinary(void**) {}
WEFT_EMULATED char __cudaInitModule(void**) { return 1; }
WEFT_EMULATED void __cudaRegisterFunction(void** module, const char* stub, char*, const char* name, int, uint3*, uint3*,
                                          dim3*, dim3*, int*) {
  CUkernel kernel = nullptr;
  cuLibraryGetKernel(&kernel, reinterpret_cast<CUlibrary>(module), name);
  const std::lock_guard lock(registry().mutex);
  cuKernelGetFunction(&registry().functions[stub], kernel);
}
WEFT_EMULATED void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}

WEFT_EMULATED unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void* stream) {
  if (configuration_count == kConfigurations) return 1;
  configurations[configuration_count++] = {grid, block, shared, stream};
  return 0;
}
WEFT_EMULATED cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  if (configuration_count == 0) return weft::emulation::runtime_result(CUDA_ERROR_INVALID_VALUE);
  const CallConfiguration& top = configurations[--configuration_count];
  *grid = top.grid;
  *block = top.block;
  *shared = top.shared;
  memcpy(stream, static_cast<const void*>(&top.stream), sizeof top.stream);
  return cudaSuccess;
}
WEFT_EMULATED cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* stub) {
  *kernel = reinterpret_cast<cudaKernel_t>(function_of(stub));
  return cudaSuccess;
}

WEFT_EMULATED cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* stub) {
  *function = function_of(stub);
  return *function != nullptr ? cudaSuccess : weft::emulation::runtime_result(CUDA_ERROR_NOT_FOUND);
}
WEFT_EMULATED cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                             size_t shared, cudaStream_t stream) {
  return WEFT_DRIVER(cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), grid.x, grid.y, grid.z, block.x, block.y,
                                    block.z, static_cast<unsigned>(shared), stream, arguments, nullptr));
}
WEFT_EMULATED cudaError_t cudaLaunchKernel(const void* stub, dim3 grid, dim3 block, void** arguments, size_t shared,
                                           cudaStream_t stream) {
  CUfunction function = function_of(stub);
  if (function == nullptr) return weft::emulation::runtime_result(CUDA_ERROR_NOT_FOUND);
  return __cudaLaunchKernel(reinterpret_cast<cudaKernel_t>(function), grid, block, arguments, shared, stream);
}

WEFT_EMULATED cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  memset(attributes, 0, sizeof *attributes);
  attributes->maxThreadsPerBlock = 1024;
  attributes->numRegs = 96;
  attributes->ptxVersion = attributes->binaryVersion = 80;
  attributes->maxDynamicSharedSizeBytes = 49152;
  return cudaSuccess;
}
WEFT_EMULATED cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) { return cudaSuccess; }

// Graphs are not emulated. NCCL calls none of this while no stream is being captured.
WEFT_EMULATED cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
WEFT_EMULATED cudaError_t cudaStreamGetCaptureInfo(cudaStream_t, cudaStreamCaptureStatus* status,
                                                   unsigned long long* id, cudaGraph_t* graph,
                                                   const cudaGraphNode_t** nodes, const cudaGraphEdgeData** edges,
                                                   size_t* count) {
  *status = cudaStreamCaptureStatusNone;
  if (id != nullptr) *id = 0;
  if (graph != nullptr) *graph = nullptr;
  if (nodes != nullptr) *nodes = nullptr;
  if (edges != nullptr) *edges = nullptr;
  if (count != nullptr) *count = 0;
  return cudaSuccess;
}
WEFT_EMULATED cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return WEFT_DRIVER(cuThreadExchangeStreamCaptureMode(reinterpret_cast<CUstreamCaptureMode*>(mode)));
}
WEFT_EMULATED cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) { return not_supported(); }
WEFT_EMULATED cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t*) { return not_supported(); }
WEFT_EMULATED cudaError_t cudaGraphInstantiate(cudaGraphExec_t*, cudaGraph_t, unsigned long long) {
  return not_supported();
}
WEFT_EMULATED cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t) { return not_supported(); }
WEFT_EMULATED cudaError_t cudaGraphExecDestroy(cudaGraphExec_t) { return not_supported(); }
WEFT_EMULATED cudaError_t cudaGraphDestroy(cudaGraph_t) { return not_supported(); }
WEFT_EMULATED cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t,
                                                      cudaEvent_t) {
  return not_supported();
}
WEFT_EMULATED cudaError_t cudaGraphAddDependencies(cudaGraph_t, const cudaGraphNode_t*, const cudaGraphNode_t*,
                                                   const cudaGraphEdgeData*, size_t) {
  return not_supported();
}
WEFT_EMULATED cudaError_t cudaGraphRetainUserObject(cudaGraph_t, cudaUserObject_t, unsigned, unsigned) {
  return not_supported();
}
WEFT_EMULATED cudaError_t cudaUserObjectCreate(cudaUserObject_t*, void*, cudaHostFn_t, unsigned, unsigned) {
  return not_supported();
}
WEFT_EMULATED cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t, cudaGraphNode_t*, const cudaGraphEdgeData*,
                                                              size_t, unsigned) {
  return not_supported();
}
