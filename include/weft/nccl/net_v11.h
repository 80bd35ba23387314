// NCCL net plugin ABI v11: v10 with a context per communicator; finalize and setNetAttr are new.
#pragma once

#include "weft/nccl/net_v10.h"

namespace weft::nccl {

using ncclNetVDeviceProps_v11_t = ncclNetVDeviceProps_v9_t;
using ncclNetCommConfig_v11_t = ncclNetCommConfig_v10_t;

struct ncclNetProperties_v11_t {
  char* name;          ///< for logs
  char* pciPath;       ///< in /sys; NULL if the NIC has none
  std::uint64_t guid;  ///< the same for all functions of one chip
  int ptrSupport;      ///< or-ed kPtr*
  int regIsGlobal;     ///< a registration serves every communicator of the device
  int forceFlush;      ///< flush receives even where NCCL thinks it is not needed
  int speed;           ///< Mb/s
  int port;
  float latency;  ///< us
  int maxComms;
  int maxRecvs;  ///< largest grouped receive
  ncclNetDeviceType netDeviceType;
  int netDeviceVersion;
  ncclNetVDeviceProps_v11_t vProps;  ///< the physical devices behind this one
  std::size_t maxP2pBytes;           ///< largest point-to-point transfer
  std::size_t maxCollBytes;          ///< largest transfer of a collective
  int maxMultiRequestSize;           ///< requests in one multi-request
};
static_assert(sizeof(ncclNetProperties_v11_t) == 112);
static_assert(offsetof(ncclNetProperties_v11_t, name) == 0);
static_assert(offsetof(ncclNetProperties_v11_t, pciPath) == 8);
static_assert(offsetof(ncclNetProperties_v11_t, guid) == 16);
static_assert(offsetof(ncclNetProperties_v11_t, ptrSupport) == 24);
static_assert(offsetof(ncclNetProperties_v11_t, regIsGlobal) == 28);
static_assert(offsetof(ncclNetProperties_v11_t, forceFlush) == 32);
static_assert(offsetof(ncclNetProperties_v11_t, speed) == 36);
static_assert(offsetof(ncclNetProperties_v11_t, port) == 40);
static_assert(offsetof(ncclNetProperties_v11_t, latency) == 44);
static_assert(offsetof(ncclNetProperties_v11_t, maxComms) == 48);
static_assert(offsetof(ncclNetProperties_v11_t, maxRecvs) == 52);
static_assert(offsetof(ncclNetProperties_v11_t, netDeviceType) == 56);
static_assert(offsetof(ncclNetProperties_v11_t, netDeviceVersion) == 60);
static_assert(offsetof(ncclNetProperties_v11_t, vProps) == 64);
static_assert(offsetof(ncclNetProperties_v11_t, maxP2pBytes) == 88);
static_assert(offsetof(ncclNetProperties_v11_t, maxCollBytes) == 96);
static_assert(offsetof(ncclNetProperties_v11_t, maxMultiRequestSize) == 104);

struct ncclNetCommAttr_v11_t {
  std::int32_t maxConcurrentPeers;
  std::int32_t minConcurrentPeers;
  std::int32_t maxFlowsPerPeer;
  std::int32_t minFlowsPerPeer;
};
static_assert(sizeof(ncclNetCommAttr_v11_t) == 16);

/// What NCCL is about to do, as a hint; any field may be kNetAttributeUndefined.
struct ncclNetAttr_v11_t {
  ncclNetCommAttr_v11_t sendCommAttr;
  ncclNetCommAttr_v11_t recvCommAttr;
  std::uint32_t op;
  std::uint32_t algo;
  std::uint32_t proto;
};
static_assert(sizeof(ncclNetAttr_v11_t) == 44);
static_assert(offsetof(ncclNetAttr_v11_t, recvCommAttr) == 16);
static_assert(offsetof(ncclNetAttr_v11_t, op) == 32);

struct ncclNet_v11_t {
  const char* name;
  ncclResult_t (*init)(void** ctx, std::uint64_t commId, ncclNetCommConfig_v11_t* config, ncclDebugLogger_t logger,
                       ncclProfilerCallback_t profiler);
  ncclResult_t (*devices)(int* ndev);
  ncclResult_t (*getProperties)(int dev, ncclNetProperties_v11_t* props);
  ncclResult_t (*listen)(void* ctx, int dev, void* handle, void** listenComm);
  ncclResult_t (*connect)(void* ctx, int dev, void* handle, void** sendComm, ncclNetDeviceHandle_v11_t** sendDevComm);
  ncclResult_t (*accept)(void* listenComm, void** recvComm, ncclNetDeviceHandle_v11_t** recvDevComm);
  ncclResult_t (*regMr)(void* comm, void* data, std::size_t size, int type, void** mhandle);
  ncclResult_t (*regMrDmaBuf)(void* comm, void* data, std::size_t size, int type, std::uint64_t offset, int fd,
                              void** mhandle);
  ncclResult_t (*deregMr)(void* comm, void* mhandle);
  ncclResult_t (*isend)(void* sendComm, void* data, std::size_t size, int tag, void* mhandle, void* phandle,
                        void** request);
  ncclResult_t (*irecv)(void* recvComm, int n, void** data, std::size_t* sizes, int* tags, void** mhandles,
                        void** phandles, void** request);
  ncclResult_t (*iflush)(void* recvComm, int n, void** data, int* sizes, void** mhandles, void** request);
  ncclResult_t (*test)(void* request, int* done, int* sizes);
  ncclResult_t (*closeSend)(void* sendComm);
  ncclResult_t (*closeRecv)(void* recvComm);
  ncclResult_t (*closeListen)(void* listenComm);
  ncclResult_t (*getDeviceMr)(void* comm, void* mhandle, void** dptr_mhandle);
  ncclResult_t (*irecvConsumed)(void* recvComm, int n, void* request);
  ncclResult_t (*makeVDevice)(int* d, ncclNetVDeviceProps_v11_t* props);
  ncclResult_t (*finalize)(void* ctx);
  ncclResult_t (*setNetAttr)(void* ctx, ncclNetAttr_v11_t* netAttr);
};
static_assert(kTableEntries<ncclNet_v11_t> == 22);

}  // namespace weft::nccl
