// NCCL net plugin ABI v9: v8 with size_t in isend and irecv, virtual devices, optional receive completion.
#pragma once

#include "weft/nccl/net_common.h"

namespace weft::nccl {

struct ncclNetVDeviceProps_v9_t {
  int ndevs;
  int devs[kNetMaxDevsPerNicV11];
};
static_assert(sizeof(ncclNetVDeviceProps_v9_t) == 20);
static_assert(offsetof(ncclNetVDeviceProps_v9_t, devs) == 4);

struct ncclNetProperties_v9_t {
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
  ncclNetVDeviceProps_v9_t vProps;  ///< the physical devices behind this one
  std::size_t maxP2pBytes;          ///< largest point-to-point transfer
  std::size_t maxCollBytes;         ///< largest transfer of a collective
};
static_assert(sizeof(ncclNetProperties_v9_t) == 104);
static_assert(offsetof(ncclNetProperties_v9_t, name) == 0);
static_assert(offsetof(ncclNetProperties_v9_t, pciPath) == 8);
static_assert(offsetof(ncclNetProperties_v9_t, guid) == 16);
static_assert(offsetof(ncclNetProperties_v9_t, ptrSupport) == 24);
static_assert(offsetof(ncclNetProperties_v9_t, regIsGlobal) == 28);
static_assert(offsetof(ncclNetProperties_v9_t, forceFlush) == 32);
static_assert(offsetof(ncclNetProperties_v9_t, speed) == 36);
static_assert(offsetof(ncclNetProperties_v9_t, port) == 40);
static_assert(offsetof(ncclNetProperties_v9_t, latency) == 44);
static_assert(offsetof(ncclNetProperties_v9_t, maxComms) == 48);
static_assert(offsetof(ncclNetProperties_v9_t, maxRecvs) == 52);
static_assert(offsetof(ncclNetProperties_v9_t, netDeviceType) == 56);
static_assert(offsetof(ncclNetProperties_v9_t, netDeviceVersion) == 60);
static_assert(offsetof(ncclNetProperties_v9_t, vProps) == 64);
static_assert(offsetof(ncclNetProperties_v9_t, maxP2pBytes) == 88);
static_assert(offsetof(ncclNetProperties_v9_t, maxCollBytes) == 96);

struct ncclNet_v9_t {
  const char* name;
  ncclResult_t (*init)(ncclDebugLogger_t logger);
  ncclResult_t (*devices)(int* ndev);
  ncclResult_t (*getProperties)(int dev, ncclNetProperties_v9_t* props);
  ncclResult_t (*listen)(int dev, void* handle, void** listenComm);
  ncclResult_t (*connect)(int dev, void* handle, void** sendComm, ncclNetDeviceHandle_v9_t** sendDevComm);
  ncclResult_t (*accept)(void* listenComm, void** recvComm, ncclNetDeviceHandle_v9_t** recvDevComm);
  ncclResult_t (*regMr)(void* comm, void* data, std::size_t size, int type, void** mhandle);
  ncclResult_t (*regMrDmaBuf)(void* comm, void* data, std::size_t size, int type, std::uint64_t offset, int fd,
                              void** mhandle);
  ncclResult_t (*deregMr)(void* comm, void* mhandle);
  ncclResult_t (*isend)(void* sendComm, void* data, std::size_t size, int tag, void* mhandle, void** request);
  ncclResult_t (*irecv)(void* recvComm, int n, void** data, std::size_t* sizes, int* tags, void** mhandles,
                        void** request);
  ncclResult_t (*iflush)(void* recvComm, int n, void** data, int* sizes, void** mhandles, void** request);
  ncclResult_t (*test)(void* request, int* done, int* sizes);
  ncclResult_t (*closeSend)(void* sendComm);
  ncclResult_t (*closeRecv)(void* recvComm);
  ncclResult_t (*closeListen)(void* listenComm);
  ncclResult_t (*getDeviceMr)(void* comm, void* mhandle, void** dptr_mhandle);
  ncclResult_t (*irecvConsumed)(void* recvComm, int n, void* request);
  ncclResult_t (*makeVDevice)(int* d, ncclNetVDeviceProps_v9_t* props);
};
static_assert(kTableEntries<ncclNet_v9_t> == 20);

}  // namespace weft::nccl
