// What the ABIs before v12 say differently: thin adapters onto the entry functions of net_v12.h.
#pragma once

#include <cstddef>

#include "weft/nccl/net_v10.h"

namespace weft::plugin::compat {

using nccl::ncclResult_t;

// Up to v10: one start for the whole process, no context, no finalize.
ncclResult_t init(nccl::ncclDebugLogger_t logger) noexcept;
ncclResult_t init_v10(nccl::ncclDebugLogger_t logger, nccl::ncclProfilerCallback_t profiler) noexcept;
ncclResult_t listen(int dev, void* handle, void** listen_comm) noexcept;
ncclResult_t connect(int dev, void* handle, void** send_comm, nccl::ncclNetDeviceHandle_v9_t** send_dev_comm) noexcept;
ncclResult_t connect_v10(int dev, nccl::ncclNetCommConfig_v10_t* config, void* handle, void** send_comm,
                         nccl::ncclNetDeviceHandle_v10_t** send_dev_comm) noexcept;

// v9: no profiler handles.
ncclResult_t isend_v9(void* send_comm, void* data, std::size_t size, int tag, void* mhandle, void** request) noexcept;
ncclResult_t irecv_v9(void* recv_comm, int n, void** data, std::size_t* sizes, int* tags, void** mhandles,
                      void** request) noexcept;

// Up to v8: sizes are int. What *request holds before irecv means nothing: NCCL's adapters clear it, and older NCCLs
// know no optional completion.
ncclResult_t isend_v8(void* send_comm, void* data, int size, int tag, void* mhandle, void** request) noexcept;
ncclResult_t irecv_v8(void* recv_comm, int n, void** data, int* sizes, int* tags, void** mhandles,
                      void** request) noexcept;

// Up to v7: so is that of a registration.
ncclResult_t reg_mr_v7(void* comm, void* data, int size, int type, void** mhandle) noexcept;

// v6: no device handles.
ncclResult_t connect_v6(int dev, void* handle, void** send_comm) noexcept;
ncclResult_t accept_v6(void* listen_comm, void** recv_comm) noexcept;

}  // namespace weft::plugin::compat
