// What every version of NCCL's net plugin ABI shares: results, log, profiler callback, device handle, limits.
//
// Weft's own declarations. Names and layouts are facts of NCCL 2.30.7 (nccl.h, nccl_common.h, net_device.h,
// nccl_net.h); they live in namespace weft::nccl so that a test can include NCCL's headers beside them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::nccl {

/// Bytes of the handle that listen() fills and that NCCL carries to the peer.
inline constexpr std::size_t kNetHandleBytes = 128;
/// Requests NCCL keeps in flight on one communicator: from v7 on 32, for v6 plugins it was 8.
inline constexpr int kNetMaxRequests = 32;
/// Largest maxP2pBytes and maxCollBytes NCCL accepts: 1 TiB. Both must be above 0.
inline constexpr std::size_t kNetMaxSizeBytes = std::size_t{1} << 40;
/// The value irecv finds in *request when the completion of this receive is optional (v9 and later).
inline constexpr std::uintptr_t kNetOptionalRecvCompletion = 0x1;
/// "Not set" in ncclNetCommConfig and ncclNetAttr, and in railId and planeId.
inline constexpr int kNetTrafficClassUndefined = -1;
inline constexpr int kNetAttributeUndefined = -1;
inline constexpr int kNetIdUndefined = -1;
/// Devices behind one virtual NIC.
inline constexpr int kNetMaxDevsPerNicV11 = 4;
inline constexpr int kNetMaxDevsPerNicV12 = 8;

/// Bits of ptrSupport, and the `type` argument of regMr (one of the first two).
enum : int { kPtrHost = 0x1, kPtrCuda = 0x2, kPtrDmaBuf = 0x4 };

enum ncclResult_t {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7,
  ncclTimeout = 8,
  ncclNumResults = 9
};

enum ncclDebugLogLevel {
  NCCL_LOG_NONE = 0,
  NCCL_LOG_VERSION = 1,
  NCCL_LOG_WARN = 2,
  NCCL_LOG_INFO = 3,
  NCCL_LOG_ABORT = 4,
  NCCL_LOG_TRACE = 5
};

/// The bits of the logger's `flags` that a net plugin uses; NCCL has more.
enum ncclDebugLogSubSys { NCCL_INIT = 0x1, NCCL_NET = 0x10, NCCL_ALL = ~0 };

using ncclDebugLogger_t = void (*)(ncclDebugLogLevel level, unsigned long flags, const char* file, int line,
                                   const char* format, ...);

using ncclProfilerCallback_t = ncclResult_t (*)(void** event, int type, void* parent, std::int64_t plugin_id,
                                                void* data);

/// How much of the network runs on the GPU. A net plugin may only say HOST or UNPACK.
enum ncclNetDeviceType {
  NCCL_NET_DEVICE_HOST = 0,
  NCCL_NET_DEVICE_UNPACK = 1,
  NCCL_NET_DEVICE_GIN_PROXY = 2,
  NCCL_NET_DEVICE_GIN_GDAKI = 3,
  NCCL_NET_DEVICE_GIN_GPI = 4
};
inline constexpr int kNetDeviceInvalidVersion = 0;

struct ncclNetDeviceHandle_v7_t {
  ncclNetDeviceType netDeviceType;
  int netDeviceVersion;
  void* handle;
  std::size_t size;
  int needsProxyProgress;
};
using ncclNetDeviceHandle_v8_t = ncclNetDeviceHandle_v7_t;
using ncclNetDeviceHandle_v9_t = ncclNetDeviceHandle_v7_t;
using ncclNetDeviceHandle_v10_t = ncclNetDeviceHandle_v7_t;
using ncclNetDeviceHandle_v11_t = ncclNetDeviceHandle_v7_t;
using ncclNetDeviceHandle_v12_t = ncclNetDeviceHandle_v7_t;

// The layouts below are those of 64-bit Linux, the only place NCCL runs.
static_assert(sizeof(void*) == 8 && sizeof(int) == 4 && sizeof(unsigned long) == 8);
static_assert(sizeof(ncclResult_t) == 4 && sizeof(ncclDebugLogLevel) == 4 && sizeof(ncclNetDeviceType) == 4);
static_assert(sizeof(ncclNetDeviceHandle_v7_t) == 32);
static_assert(offsetof(ncclNetDeviceHandle_v7_t, netDeviceType) == 0);
static_assert(offsetof(ncclNetDeviceHandle_v7_t, netDeviceVersion) == 4);
static_assert(offsetof(ncclNetDeviceHandle_v7_t, handle) == 8);
static_assert(offsetof(ncclNetDeviceHandle_v7_t, size) == 16);
static_assert(offsetof(ncclNetDeviceHandle_v7_t, needsProxyProgress) == 24);

/// Pointers in a function table, the name included: the tables hold nothing else.
template <class Table>
inline constexpr std::size_t kTableEntries = sizeof(Table) / sizeof(void*);

}  // namespace weft::nccl
