// NCCL net plugin ABI v7: v6 with device handles on connect and accept, and the two device-offload functions.
#pragma once

#include "weft/nccl/net_common.h"

namespace weft::nccl {

struct ncclNetProperties_v7_t {
  char* name;          ///< for logs
  char* pciPath;       ///< in /sys; NULL if the NIC has none
  std::uint64_t guid;  ///< the same for all functions of one chip
  int ptrSupport;      ///< or-ed kPtr*
  int speed;           ///< Mb/s
  int port;
  float latency;  ///< us
  int maxComms;
  int maxRecvs;  ///< largest grouped receive
  ncclNetDeviceType netDeviceType;
  int netDeviceVersion;
};
static_assert(sizeof(ncclNetProperties_v7_t) == 56);
static_assert(offsetof(ncclNetProperties_v7_t, name) == 0);
static_assert(offsetof(ncclNetProperties_v7_t, pciPath) == 8);
static_assert(offsetof(ncclNetProperties_v7_t, guid) == 16);
static_assert(offsetof(ncclNetProperties_v7_t, ptrSupport) == 24);
static_assert(offsetof(ncclNetProperties_v7_t, speed) == 28);
static_assert(offsetof(ncclNetProperties_v7_t, port) == 32);
static_assert(offsetof(ncclNetProperties_v7_t, latency) == 36);
static_assert(offsetof(ncclNetProperties_v7_t, maxComms) == 40);
static_assert(offsetof(ncclNetProperties_v7_t, maxRecvs) == 44);
static_assert(offsetof(ncclNetProperties_v7_t, netDeviceType) == 48);
static_assert(offsetof(ncclNetProperties_v7_t, netDeviceVersion) == 52);

struct ncclNet_v7_t {
  const char* name;
  ncclResult_t (*init)(ncclDebugLogger_t logger);
  ncclResult_t (*devices)(int* ndev);
  ncclResult_t (*getProperties)(int dev, ncclNetProperties_v7_t* props);
  ncclResult_t (*listen)(int dev, void* handle, void** listenComm);
  ncclResult_t (*connect)(int dev, void* handle, void** sendComm, ncclNetDeviceHandle_v7_t** sendDevComm);
  ncclResult_t (*accept)(void* listenComm, void** recvComm, ncclNetDeviceHandle_v7_t** recvDevComm);
  ncclResult_t (*regMr)(void* comm, void* data, int size, int type, void** mhandle);
  ncclResult_t (*regMrDmaBuf)(void* comm, void* data, std::size_t size, int type, std::uint64_t offset, int fd,
                              void** mhandle);
  ncclResult_t (*deregMr)(void* comm, void* mhandle);
  ncclResult_t (*isend)(void* sendComm, void* data, int size, int tag, void* mhandle, void** request);
  ncclResult_t (*irecv)(void* recvComm, int n, void** data, int* sizes, int* tags, void** mhandles, void** request);
  ncclResult_t (*iflush)(void* recvComm, int n, void** data, int* sizes, void** mhandles, void** request);
  ncclResult_t (*test)(void* request, int* done, int* sizes);
  ncclResult_t (*closeSend)(void* sendComm);
  ncclResult_t (*closeRecv)(void* recvComm);
  ncclResult_t (*closeListen)(void* listenComm);
  ncclResult_t (*getDeviceMr)(void* comm, void* mhandle, void** dptr_mhandle);
  ncclResult_t (*irecvConsumed)(void* recvComm, int n, void* request);
};
static_assert(kTableEntries<ncclNet_v7_t> == 19);

}  // namespace weft::nccl
