// Memory of the runtime.
#include <cstring>

#include "tests/emulation/cuda/runtime.h"

using weft::emulation::address;
using weft::emulation::address_of;

WEFT_EMULATED cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  return WEFT_DRIVER(cuMemAlloc(address_of(pointer), bytes));
}
WEFT_EMULATED cudaError_t cudaFree(void* pointer) { return WEFT_DRIVER(cuMemFree(address(pointer))); }
WEFT_EMULATED cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned flags) {
  return WEFT_DRIVER(cuMemHostAlloc(pointer, bytes, flags));
}
WEFT_EMULATED cudaError_t cudaFreeHost(void* pointer) { return WEFT_DRIVER(cuMemFreeHost(pointer)); }
WEFT_EMULATED cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned flags) {
  return WEFT_DRIVER(cuMemHostRegister(pointer, bytes, flags));
}
WEFT_EMULATED cudaError_t cudaHostUnregister(void* pointer) { return WEFT_DRIVER(cuMemHostUnregister(pointer)); }
WEFT_EMULATED cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags) {
  return WEFT_DRIVER(cuMemHostGetDevicePointer(address_of(device), host, flags));
}

WEFT_EMULATED cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  return WEFT_DRIVER(cuMemcpy(address(to), address(from), bytes));
}
WEFT_EMULATED cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind,
                                          cudaStream_t stream) {
  return WEFT_DRIVER(cuMemcpyAsync(address(to), address(from), bytes, stream));
}
WEFT_EMULATED cudaError_t cudaMemcpyBatchAsync(void* const* to, const void* const* from, const size_t* bytes,
                                               size_t count, cudaMemcpyAttributes*, size_t*, size_t,
                                               cudaStream_t stream) {
  for (size_t i = 0; i < count; ++i) {
    const cudaError_t error = WEFT_DRIVER(cuMemcpyAsync(address(to[i]), address(from[i]), bytes[i], stream));
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}
WEFT_EMULATED cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  return WEFT_DRIVER(cuMemsetD8(address(to), static_cast<unsigned char>(value), bytes));
}
WEFT_EMULATED cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  return WEFT_DRIVER(cuMemsetD8Async(address(to), static_cast<unsigned char>(value), bytes, stream));
}

WEFT_EMULATED cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  CUmemPoolProps driver{};
  driver.location.id = properties->location.id;
  return WEFT_DRIVER(cuMemPoolCreate(pool, &driver));
}
WEFT_EMULATED cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) { return WEFT_DRIVER(cuMemPoolDestroy(pool)); }
WEFT_EMULATED cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
WEFT_EMULATED cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t pool,
                                                  cudaStream_t stream) {
  return WEFT_DRIVER(cuMemAllocFromPoolAsync(address_of(pointer), bytes, pool, stream));
}
WEFT_EMULATED cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  return WEFT_DRIVER(cuMemAllocAsync(address_of(pointer), bytes, stream));
}
WEFT_EMULATED cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  return WEFT_DRIVER(cuMemFreeAsync(address(pointer), stream));
}

static_assert(sizeof(cudaIpcMemHandle_t) == sizeof(CUipcMemHandle));
WEFT_EMULATED cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer) {
  return WEFT_DRIVER(cuIpcGetMemHandle(reinterpret_cast<CUipcMemHandle*>(handle), address(pointer)));
}
WEFT_EMULATED cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned flags) {
  CUipcMemHandle driver;
  memcpy(&driver, &handle, sizeof driver);
  return WEFT_DRIVER(cuIpcOpenMemHandle(address_of(pointer), driver, flags));
}
WEFT_EMULATED cudaError_t cudaIpcCloseMemHandle(void* pointer) {
  return WEFT_DRIVER(cuIpcCloseMemHandle(address(pointer)));
}

WEFT_EMULATED cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  weft::emulation::bind_device();
  memset(attributes, 0, sizeof *attributes);
  unsigned type = 0;
  CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  void* values[] = {&type, &attributes->device};
  cuPointerGetAttributes(2, names, values, address(pointer));
  static_assert(static_cast<int>(cudaMemoryTypeHost) == static_cast<int>(CU_MEMORYTYPE_HOST));
  static_assert(static_cast<int>(cudaMemoryTypeDevice) == static_cast<int>(CU_MEMORYTYPE_DEVICE));
  attributes->type = static_cast<cudaMemoryType>(type);
  if (attributes->type != cudaMemoryTypeUnregistered) attributes->devicePointer = const_cast<void*>(pointer);
  if (attributes->type != cudaMemoryTypeDevice) attributes->hostPointer = const_cast<void*>(pointer);
  return cudaSuccess;
}
