// Devices, versions, errors of the runtime.
#include <cstdio>
#include <cstring>
#include <mutex>

#include "tests/emulation/cuda/runtime.h"

namespace weft::emulation {
namespace {
thread_local int device = 0;
thread_local int bound = -1;
thread_local cudaError_t last_error = cudaSuccess;
}  // namespace

int current_device() { return device; }
void set_current_device(int chosen) { device = chosen; }

void bind_device() {
  static std::once_flag once;
  std::call_once(once, [] { cuInit(0); });
  if (bound == device) return;
  CUcontext context = nullptr;
  if (cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS) return;
  cuCtxSetCurrent(context);
  bound = device;
}

cudaError_t runtime_result(CUresult result) {
  const auto error = static_cast<cudaError_t>(result);
  // Not ready is an answer, not an error.
  if (error != cudaSuccess && error != cudaErrorNotReady) last_error = error;
  return error;
}

cudaError_t take_last_error(bool clear) {
  const cudaError_t error = last_error;
  if (clear) last_error = cudaSuccess;
  return error;
}

}  // namespace weft::emulation

using weft::emulation::runtime_result;

WEFT_EMULATED cudaError_t cudaDriverGetVersion(int* version) { return runtime_result(cuDriverGetVersion(version)); }
WEFT_EMULATED cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
WEFT_EMULATED cudaError_t cudaGetDeviceCount(int* count) { return WEFT_DRIVER(cuDeviceGetCount(count)); }
WEFT_EMULATED cudaError_t cudaGetDevice(int* device) {
  weft::emulation::bind_device();
  *device = weft::emulation::current_device();
  return cudaSuccess;
}
WEFT_EMULATED cudaError_t cudaSetDevice(int device) {
  CUdevice known = 0;
  const cudaError_t error = runtime_result(cuDeviceGet(&known, device));
  if (error != cudaSuccess) return error;
  weft::emulation::set_current_device(device);
  weft::emulation::bind_device();
  return cudaSuccess;
}
WEFT_EMULATED cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr name, int device) {
  return WEFT_DRIVER(cuDeviceGetAttribute(value, static_cast<CUdevice_attribute>(name), device));
}
WEFT_EMULATED cudaError_t cudaDeviceGetPCIBusId(char* text, int room, int device) {
  return WEFT_DRIVER(cuDeviceGetPCIBusId(text, room, device));
}
WEFT_EMULATED cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
  return WEFT_DRIVER(cuDeviceGetByPCIBusId(device, text));
}
WEFT_EMULATED cudaError_t cudaDeviceCanAccessPeer(int* can, int one, int other) {
  return WEFT_DRIVER(cuDeviceCanAccessPeer(can, one, other));
}
WEFT_EMULATED cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return cudaSuccess; }
WEFT_EMULATED cudaError_t cudaDeviceSetLimit(cudaLimit, size_t) { return cudaSuccess; }
WEFT_EMULATED cudaError_t cudaDeviceSynchronize() { return WEFT_DRIVER(cuCtxSynchronize()); }
WEFT_EMULATED cudaError_t cudaDeviceReset() { return cudaDeviceSynchronize(); }
WEFT_EMULATED cudaError_t cudaMemGetInfo(size_t* free, size_t* total) { return WEFT_DRIVER(cuMemGetInfo(free, total)); }

WEFT_EMULATED cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  memset(properties, 0, sizeof *properties);
  const cudaError_t error = WEFT_DRIVER(cuDeviceGetName(properties->name, sizeof properties->name, device));
  if (error != cudaSuccess) return error;
  const struct {
    int* field;
    CUdevice_attribute name;
  } attributes[] = {
      {&properties->major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
      {&properties->minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
      {&properties->multiProcessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
      {&properties->pciBusID, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID},
      {&properties->pciDeviceID, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID},
      {&properties->pciDomainID, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID},
      {&properties->maxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
      {&properties->warpSize, CU_DEVICE_ATTRIBUTE_WARP_SIZE},
      {&properties->unifiedAddressing, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING},
      {&properties->canMapHostMemory, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY},
  };
  for (const auto& attribute : attributes) cuDeviceGetAttribute(attribute.field, attribute.name, device);
  return runtime_result(cuDeviceTotalMem(&properties->totalGlobalMem, device));
}

WEFT_EMULATED const char* cudaGetErrorString(cudaError_t error) {
  static thread_local char text[48];
  snprintf(text, sizeof text, error != cudaSuccess ? "emulated CUDA error %d" : "no error", error);
  return text;
}
WEFT_EMULATED const char* cudaGetErrorName(cudaError_t error) { return cudaGetErrorString(error); }
WEFT_EMULATED cudaError_t cudaGetLastError() { return weft::emulation::take_last_error(true); }
WEFT_EMULATED cudaError_t cudaPeekAtLastError() { return weft::emulation::take_last_error(false); }

WEFT_EMULATED cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned version,
                                                           unsigned long long flags,
                                                           cudaDriverEntryPointQueryResult* status) {
  CUdriverProcAddressQueryResult found{};
  const CUresult result = cuGetProcAddress(name, function, static_cast<int>(version), flags, &found);
  if (status != nullptr) *status = static_cast<cudaDriverEntryPointQueryResult>(found);
  // As the real one: the status tells what was not found, the result is no error.
  return status != nullptr && result == CUDA_ERROR_NOT_FOUND ? cudaSuccess : WEFT_DRIVER(result);
}
