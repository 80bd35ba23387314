// Initialisation, errors, devices and their attributes.
#include <strings.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "tests/emulation/cuda/arena.h"
#include "tests/emulation/cuda/driver.h"

using weft::emulation::device_exists;
using weft::emulation::PciAddress;
using weft::emulation::settings;
using weft::emulation::Status;

static_assert(static_cast<int>(Status::kInvalidValue) == CUDA_ERROR_INVALID_VALUE);
static_assert(static_cast<int>(Status::kOutOfMemory) == CUDA_ERROR_OUT_OF_MEMORY);
static_assert(static_cast<int>(Status::kNoDevice) == CUDA_ERROR_NO_DEVICE);
static_assert(static_cast<int>(Status::kInvalidDevice) == CUDA_ERROR_INVALID_DEVICE);
static_assert(static_cast<int>(Status::kInvalidContext) == CUDA_ERROR_INVALID_CONTEXT);
static_assert(static_cast<int>(Status::kInvalidHandle) == CUDA_ERROR_INVALID_HANDLE);
static_assert(static_cast<int>(Status::kNotFound) == CUDA_ERROR_NOT_FOUND);
static_assert(static_cast<int>(Status::kNotReady) == CUDA_ERROR_NOT_READY);
static_assert(static_cast<int>(Status::kAlreadyRegistered) == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
static_assert(static_cast<int>(Status::kNotRegistered) == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
static_assert(static_cast<int>(Status::kLaunchFailed) == CUDA_ERROR_LAUNCH_FAILED);
static_assert(static_cast<int>(Status::kNotSupported) == CUDA_ERROR_NOT_SUPPORTED);

namespace {

const PciAddress& address_of(CUdevice device) {
  return settings().gpus[static_cast<size_t>(settings().visible[static_cast<size_t>(device)])];
}

// An A100 as far as it can be told: compute capability 8.0, so no NVLink SHARP, no clusters, no multicast.
int attribute(CUdevice_attribute name, CUdevice device) {
  switch (name) {
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y: return 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z: return 64;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_PITCH: return 2147483647;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: return 65535;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: return 49152;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: return 166912;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: return 167936;
    case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK: return 1024;
    case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY:
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR: return 65536;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR: return 32;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: return 1410000;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: return 1215000;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: return 5120;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: return 40 << 20;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: return 2048;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: return 108;
    case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT:
    case CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT: return 512;
    case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT: return 3;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: return 8;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: return 0;
    case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
    case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED: return 1;
    case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID: return static_cast<int>(address_of(device).domain);
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID: return static_cast<int>(address_of(device).bus);
    case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID: return static_cast<int>(address_of(device).device);
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED: return settings().gpu_direct;
    case CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED: return settings().dma_buf;
    default: return 0;  // on purpose: multicast, managed memory, clusters, fabric handles
  }
}

CUresult describe(CUresult error, const char** text) {
  static thread_local char buffer[48];
  snprintf(buffer, sizeof buffer, error != CUDA_SUCCESS ? "emulated CUDA error %d" : "no error", error);
  *text = buffer;
  return CUDA_SUCCESS;
}

}  // namespace

WEFT_EMULATED CUresult cuInit(unsigned) { return settings().visible.empty() ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS; }

WEFT_EMULATED CUresult cuDriverGetVersion(int* version) {
  *version = weft::emulation::kDriverVersion;
  return CUDA_SUCCESS;
}

WEFT_EMULATED CUresult cuGetErrorString(CUresult error, const char** text) { return describe(error, text); }
WEFT_EMULATED CUresult cuGetErrorName(CUresult error, const char** text) { return describe(error, text); }

WEFT_EMULATED CUresult cuDeviceGetCount(int* count) {
  *count = static_cast<int>(settings().visible.size());
  return CUDA_SUCCESS;
}

WEFT_EMULATED CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  if (!device_exists(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

WEFT_EMULATED CUresult cuDeviceGetName(char* name, int room, CUdevice device) {
  if (!device_exists(device)) return CUDA_ERROR_INVALID_DEVICE;
  snprintf(name, static_cast<size_t>(room), "Emulated GPU %d", settings().visible[static_cast<size_t>(device)]);
  return CUDA_SUCCESS;
}

WEFT_EMULATED CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  if (!device_exists(device)) return CUDA_ERROR_INVALID_DEVICE;
  *bytes = settings().memory;
  return CUDA_SUCCESS;
}

WEFT_EMULATED CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  if (!device_exists(device)) return CUDA_ERROR_INVALID_DEVICE;
  const PciAddress& address = address_of(device);
  memset(uuid, 0, sizeof *uuid);
  memcpy(uuid->bytes, "WEFTGPU", 7);
  uuid->bytes[13] = static_cast<char>(address.domain);
  uuid->bytes[14] = static_cast<char>(address.bus);
  uuid->bytes[15] = static_cast<char>(address.device);
  return CUDA_SUCCESS;
}
WEFT_EMULATED CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) { return cuDeviceGetUuid_v2(uuid, device); }

WEFT_EMULATED CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute name, CUdevice device) {
  if (!device_exists(device)) return CUDA_ERROR_INVALID_DEVICE;
  *value = attribute(name, device);
  return CUDA_SUCCESS;
}

WEFT_EMULATED CUresult cuDeviceGetPCIBusId(char* text, int room, CUdevice device) {
  if (!device_exists(device)) return CUDA_ERROR_INVALID_DEVICE;
  snprintf(text, static_cast<size_t>(room), "%s", address_of(device).text().c_str());
  return CUDA_SUCCESS;
}

WEFT_EMULATED CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* text) {
  PciAddress wanted;
  if (!weft::emulation::parse_pci_address(text, &wanted)) return CUDA_ERROR_INVALID_VALUE;
  for (CUdevice candidate = 0; device_exists(candidate); ++candidate) {
    if (address_of(candidate) == wanted) {
      *device = candidate;
      return CUDA_SUCCESS;
    }
  }
  return CUDA_ERROR_INVALID_DEVICE;
}

WEFT_EMULATED CUresult cuDeviceCanAccessPeer(int* can, CUdevice one, CUdevice other) {
  *can = one != other;
  return CUDA_SUCCESS;
}

// Device memory is coherent host memory: what a NIC wrote is there.
WEFT_EMULATED CUresult cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget, CUflushGPUDirectRDMAWritesScope) {
  return CUDA_SUCCESS;
}

WEFT_EMULATED CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  const weft::emulation::Context* context = weft::emulation::current_context();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  weft::emulation::Arena& arena = weft::emulation::arena_of(context->device());
  *total = arena.size();
  *free = arena.size() - arena.used();
  return CUDA_SUCCESS;
}
