// NCCL net plugin ABI v12: v11 with eight devices per virtual NIC, and rail and plane identifiers.
#pragma once

#include "weft/nccl/net_v11.h"

namespace weft::nccl {

struct ncclNetVDeviceProps_v12_t {
  int ndevs;
  int devs[kNetMaxDevsPerNicV12];
};
static_assert(sizeof(ncclNetVDeviceProps_v12_t) == 36);
static_assert(offsetof(ncclNetVDeviceProps_v12_t, devs) == 4);

using ncclNetCommConfig_v12_t = ncclNetCommConfig_v10_t;
using ncclNetCommAttr_v12_t = ncclNetCommAttr_v11_t;
using ncclNetAttr_v12_t = ncclNetAttr_v11_t;

struct ncclNetProperties_v12_t {
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
  ncclNetVDeviceProps_v12_t vProps;  ///< the physical devices behind this one
  std::size_t maxP2pBytes;           ///< largest point-to-point transfer
  std::size_t maxCollBytes;          ///< largest transfer of a collective
  int maxMultiRequestSize;           ///< requests in one multi-request
  std::int16_t railId;               ///< kNetIdUndefined if unknown
  std::int16_t planeId;
};
static_assert(sizeof(ncclNetProperties_v12_t) == 128);
static_assert(offsetof(ncclNetProperties_v12_t, name) == 0);
static_assert(offsetof(ncclNetProperties_v12_t, pciPath) == 8);
static_assert(offsetof(ncclNetProperties_v12_t, guid) == 16);
static_assert(offsetof(ncclNetProperties_v12_t, ptrSupport) == 24);
static_assert(offsetof(ncclNetProperties_v12_t, regIsGlobal) == 28);
static_assert(offsetof(ncclNetProperties_v12_t, forceFlush) == 32);
static_assert(offsetof(ncclNetProperties_v12_t, speed) == 36);
static_assert(offsetof(ncclNetProperties_v12_t, port) == 40);
static_assert(offsetof(ncclNetProperties_v12_t, latency) == 44);
static_assert(offsetof(ncclNetProperties_v12_t, maxComms) == 48);
static_assert(offsetof(ncclNetProperties_v12_t, maxRecvs) == 52);
static_assert(offsetof(ncclNetProperties_v12_t, netDeviceType) == 56);
static_assert(offsetof(ncclNetProperties_v12_t, netDeviceVersion) == 60);
static_assert(offsetof(ncclNetProperties_v12_t, vProps) == 64);
static_assert(offsetof(ncclNetProperties_v12_t, maxP2pBytes) == 104);
static_assert(offsetof(ncclNetProperties_v12_t, maxCollBytes) == 112);
static_assert(offsetof(ncclNetProperties_v12_t, maxMultiRequestSize) == 120);
static_assert(offsetof(ncclNetProperties_v12_t, railId) == 124);
static_assert(offsetof(ncclNetProperties_v12_t, planeId) == 126);

struct ncclNet_v12_t {
  const char* name;
  ncclResult_t (*init)(void** ctx, std::uint64_t commId, ncclNetCommConfig_v12_t* config, ncclDebugLogger_t logger,
                       ncclProfilerCallback_t profiler);
  ncclResult_t (*devices)(int* ndev);
  ncclResult_t (*getProperties)(int dev, ncclNetProperties_v12_t* props);
  ncclResult_t (*listen)(void* ctx, int dev, void* handle, void** listenComm);
  ncclResult_t (*connect)(void* ctx, int dev, void* handle, void** sendComm, ncclNetDeviceHandle_v12_t** sendDevComm);
  ncclResult_t (*accept)(void* listenComm, void** recvComm, ncclNetDeviceHandle_v12_t** recvDevComm);
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
  ncclResult_t (*makeVDevice)(int* d, ncclNetVDeviceProps_v12_t* props);
  ncclResult_t (*finalize)(void* ctx);
  ncclResult_t (*setNetAttr)(void* ctx, ncclNetAttr_v12_t* netAttr);
};
static_assert(kTableEntries<ncclNet_v12_t> == 22);

}  // namespace weft::nccl
