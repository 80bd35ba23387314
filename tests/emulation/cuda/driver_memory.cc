// Device and host memory, what a pointer is, memory in stream order, CUDA IPC.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>

#include "tests/emulation/cuda/address_space.h"
#include "tests/emulation/cuda/arena.h"
#include "tests/emulation/cuda/driver.h"
#include "tests/emulation/cuda/log.h"

using weft::emulation::address_space;
using weft::emulation::Arena;
using weft::emulation::arena_of;
using weft::emulation::Context;
using weft::emulation::current_context;
using weft::emulation::kPageSize;
using weft::emulation::MemoryKind;
using weft::emulation::pointer;
using weft::emulation::Range;
using weft::emulation::round_up;
using weft::emulation::Stream;
using weft::emulation::stream_of;

namespace {

CUresult allocate(int device, size_t bytes, CUdeviceptr* address) {
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  char* memory = arena_of(device).allocate(bytes);
  if (memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  address_space().add(memory, bytes, MemoryKind::kDevice, device);
  *address = reinterpret_cast<CUdeviceptr>(memory);
  return CUDA_SUCCESS;
}

CUresult release(CUdeviceptr address) {
  if (address == 0) return CUDA_SUCCESS;
  const auto range = address_space().remove(pointer(address), MemoryKind::kDevice);
  if (!range) return CUDA_ERROR_INVALID_VALUE;
  arena_of(range->device).release(static_cast<char*>(pointer(address)), range->size);
  return CUDA_SUCCESS;
}

struct Pool {
  int device;
};

// A handle names the pages by the exporting process and its descriptor of the device's memory.
struct IpcHandle {
  int pid, fd;
  uint64_t offset, size;
};
static_assert(sizeof(IpcHandle) <= sizeof(CUipcMemHandle));

template <class Value>
void store(void* to, Value value) {
  *static_cast<Value*>(to) = value;
}

// range: what is known of the address, if anything.
CUresult pointer_attribute(void* value, CUpointer_attribute name, void* address, const std::optional<Range>& range) {
  const bool device = range && range->kind != MemoryKind::kPinnedHost && range->kind != MemoryKind::kRegisteredHost;
  switch (name) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      store<void*>(value, range ? &weft::emulation::primary_context(range->device) : nullptr);
      break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      store<unsigned>(value, !range ? 0 : device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST);
      break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: store<void*>(value, range ? address : nullptr); break;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER: store<void*>(value, device ? nullptr : address); break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: store<int>(value, range ? range->device : -2); break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: store<uint64_t>(value, range ? range->id : 0); break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: store<uintptr_t>(value, range ? range->base : 0); break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: store<size_t>(value, range ? range->size : 0); break;
    case CU_POINTER_ATTRIBUTE_MAPPED: store<unsigned>(value, range.has_value()); break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: store<unsigned>(value, 0); break;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE: store<unsigned>(value, device); break;
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE: store<unsigned>(value, 1); break;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES: store<uint64_t>(value, 0); break;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: store<void*>(value, nullptr); break;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: store<int>(value, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE); break;
    default: weft::emulation::log(0, "pointer attribute %d is not emulated", name); return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

}  // namespace

WEFT_EMULATED CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  const Context* context = current_context();
  return context != nullptr ? allocate(context->device(), bytes, address) : CUDA_ERROR_INVALID_CONTEXT;
}
// Waits for the device, as a real driver does.
WEFT_EMULATED CUresult cuMemFree_v2(CUdeviceptr address) {
  if (Context* context = current_context()) context->drain_blocking();
  return release(address);
}
WEFT_EMULATED CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* size, CUdeviceptr address) {
  const auto range = address_space().find(pointer(address));
  if (!range || (range->kind != MemoryKind::kDevice && range->kind != MemoryKind::kMapped)) return CUDA_ERROR_NOT_FOUND;
  if (base != nullptr) *base = range->base;
  if (size != nullptr) *size = range->size;
  return CUDA_SUCCESS;
}

WEFT_EMULATED CUresult cuMemHostAlloc(void** address, size_t bytes, unsigned) {
  const size_t length = round_up(bytes > 0 ? bytes : 1, kPageSize);
  void* memory = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  address_space().add(memory, length, MemoryKind::kPinnedHost, 0);
  *address = memory;
  return CUDA_SUCCESS;
}
WEFT_EMULATED CUresult cuMemAllocHost_v2(void** address, size_t bytes) { return cuMemHostAlloc(address, bytes, 0); }
WEFT_EMULATED CUresult cuMemFreeHost(void* address) {
  const auto range = address_space().remove(address, MemoryKind::kPinnedHost);
  if (!range) return CUDA_ERROR_INVALID_VALUE;
  munmap(address, range->size);
  return CUDA_SUCCESS;
}
WEFT_EMULATED CUresult cuMemHostRegister_v2(void* address, size_t bytes, unsigned) {
  const auto known = address_space().find(address);
  if (known && known->base == reinterpret_cast<uintptr_t>(address)) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  address_space().add(address, bytes, MemoryKind::kRegisteredHost, 0);
  return CUDA_SUCCESS;
}
WEFT_EMULATED CUresult cuMemHostUnregister(void* address) {
  return address_space().remove(address, MemoryKind::kRegisteredHost) ? CUDA_SUCCESS
                                                                      : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}
WEFT_EMULATED CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* device, void* host, unsigned) {
  *device = reinterpret_cast<CUdeviceptr>(host);
  return CUDA_SUCCESS;
}

WEFT_EMULATED CUresult cuPointerGetAttribute(void* value, CUpointer_attribute name, CUdeviceptr address) {
  const auto range = address_space().find(pointer(address));
  return range ? pointer_attribute(value, name, pointer(address), range) : CUDA_ERROR_INVALID_VALUE;
}
// Unlike the call for one attribute, this one answers for memory that CUDA does not know.
WEFT_EMULATED CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* names, void** values,
                                              CUdeviceptr address) {
  const auto range = address_space().find(pointer(address));
  for (unsigned i = 0; i < count; ++i) {
    const CUresult got = pointer_attribute(values[i], names[i], pointer(address), range);
    if (got != CUDA_SUCCESS) return got;
  }
  return CUDA_SUCCESS;
}
WEFT_EMULATED CUresult cuPointerSetAttribute(const void*, CUpointer_attribute, CUdeviceptr address) {
  return address_space().find(pointer(address)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// Memory in stream order: the allocation is made at once, the release in order.
WEFT_EMULATED CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  *pool = reinterpret_cast<CUmemoryPool>(new Pool{properties->location.id});
  return CUDA_SUCCESS;
}
WEFT_EMULATED CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  delete reinterpret_cast<Pool*>(pool);
  return CUDA_SUCCESS;
}
WEFT_EMULATED CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, size_t bytes, CUmemoryPool pool, CUstream) {
  return allocate(reinterpret_cast<Pool*>(pool)->device, bytes, address);
}
WEFT_EMULATED CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream handle) {
  const Stream* stream = stream_of(handle);
  return stream != nullptr ? allocate(stream->context().device(), bytes, address) : CUDA_ERROR_INVALID_CONTEXT;
}
WEFT_EMULATED CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle) {
  Stream* stream = stream_of(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  stream->enqueue([address] { release(address); });
  return CUDA_SUCCESS;
}

WEFT_EMULATED CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
  const auto range = address_space().find(pointer(address));
  if (!range || range->kind != MemoryKind::kDevice) return CUDA_ERROR_INVALID_VALUE;
  const Arena& arena = arena_of(range->device);
  const IpcHandle ours{getpid(), arena.fd(), arena.offset_of(pointer(range->base)), round_up(range->size, kPageSize)};
  memset(handle, 0, sizeof *handle);
  memcpy(handle, &ours, sizeof ours);
  return CUDA_SUCCESS;
}
WEFT_EMULATED CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* address, CUipcMemHandle handle, unsigned) {
  IpcHandle ours;
  memcpy(&ours, &handle, sizeof ours);
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/fd/%d", ours.pid, ours.fd);
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return CUDA_ERROR_INVALID_VALUE;
  void* memory = mmap(nullptr, ours.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(ours.offset));
  close(fd);
  if (memory == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  address_space().add(memory, ours.size, MemoryKind::kMapped, 0);
  *address = reinterpret_cast<CUdeviceptr>(memory);
  return CUDA_SUCCESS;
}
WEFT_EMULATED CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
  const auto range = address_space().remove(pointer(address), MemoryKind::kMapped);
  if (!range) return CUDA_ERROR_INVALID_VALUE;
  munmap(pointer(address), range->size);
  return CUDA_SUCCESS;
}
