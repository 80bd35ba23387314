// NCCL net plugin ABI v6, the oldest Weft serves: `int` sizes everywhere, no context, no finalize.
#pragma once

#include "weft/nccl/net_common.h"

namespace weft::nccl {

struct ncclNetProperties_v6_t {
  char* name;          ///< for logs
  char* pciPath;       ///< in /sys; NULL if the NIC has none
  std::uint64_t guid;  ///< the same for all functions of one chip
  int ptrSupport;      ///< or-ed kPtr*
  int speed;           ///< Mb/s
  int port;
  float latency;  ///< us
  int maxComms;
  int maxRecvs;  ///< largest grouped receive
};
static_assert(sizeof(ncclNetProperties_v6_t) == 48);
static_assert(offsetof(ncclNetProperties_v6_t, name) == 0);
static_assert(offsetof(ncclNetProperties_v6_t, pciPath) == 8);
static_assert(offsetof(ncclNetProperties_v6_t, guid) == 16);
static_assert(offsetof(ncclNetProperties_v6_t, ptrSupport) == 24);
static_assert(offsetof(ncclNetProperties_v6_t, speed) == 28);
static_assert(offsetof(ncclNetProperties_v6_t, port) == 32);
static_assert(offsetof(ncclNetProperties_v6_t, latency) == 36);
static_assert(offsetof(ncclNetProperties_v6_t, maxComms) == 40);
static_assert(offsetof(ncclNetProperties_v6_t, maxRecvs) == 44);

struct ncclNet_v6_t {
  const char* name;
  ncclResult_t (*init)(ncclDebugLogger_t logger);
  ncclResult_t (*devices)(int* ndev);
  ncclResult_t (*getProperties)(int dev, ncclNetProperties_v6_t* props);
  ncclResult_t (*listen)(int dev, void* handle, void** listenComm);
  ncclResult_t (*connect)(int dev, void* handle, void** sendComm);
  ncclResult_t (*accept)(void* listenComm, void** recvComm);
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
};
static_assert(kTableEntries<ncclNet_v6_t> == 17);

}  // namespace weft::nccl
