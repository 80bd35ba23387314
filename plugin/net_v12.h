// The net plugin's entry functions in the newest ABI that Weft knows. Older ABIs use those whose form is the same, and
// net_compat.h for the rest.
//
// All of them may be called from any thread; NCCL calls isend, irecv, test and iflush of one communicator from one
// thread at a time, and so does Weft want it. Every pointer result is overwritten in every case, with null when there
// is nothing to give.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/nccl/net_v12.h"

namespace weft::plugin {

using nccl::ncclResult_t;

/// NCCL's name for this network, as in NCCL_NET.
inline constexpr const char* kNetName = "Weft";

ncclResult_t init(void** ctx, std::uint64_t comm_id, nccl::ncclNetCommConfig_v12_t* config,
                  nccl::ncclDebugLogger_t logger, nccl::ncclProfilerCallback_t profiler) noexcept;
ncclResult_t finalize(void* ctx) noexcept;
ncclResult_t devices(int* count) noexcept;
// getProperties: net_properties.h

// A null ctx in the next two means the ABIs that have none.
ncclResult_t listen(void* ctx, int dev, void* handle, void** listen_comm) noexcept;
ncclResult_t connect(void* ctx, int dev, void* handle, void** send_comm,
                     nccl::ncclNetDeviceHandle_v12_t** send_dev_comm) noexcept;
ncclResult_t accept(void* listen_comm, void** recv_comm, nccl::ncclNetDeviceHandle_v12_t** recv_dev_comm) noexcept;
ncclResult_t close_send(void* send_comm) noexcept;
ncclResult_t close_recv(void* recv_comm) noexcept;
ncclResult_t close_listen(void* listen_comm) noexcept;

/// `comm` is a sending or a receiving communicator; the registration serves all of its device.
ncclResult_t reg_mr(void* comm, void* data, std::size_t size, int type, void** mhandle) noexcept;
ncclResult_t reg_mr_dmabuf(void* comm, void* data, std::size_t size, int type, std::uint64_t offset, int fd,
                           void** mhandle) noexcept;
ncclResult_t dereg_mr(void* comm, void* mhandle) noexcept;

ncclResult_t isend(void* send_comm, void* data, std::size_t size, int tag, void* mhandle, void* phandle,
                   void** request) noexcept;
/// Finds kNetOptionalRecvCompletion in *request when the caller need not know that the data has arrived.
ncclResult_t irecv(void* recv_comm, int n, void** data, std::size_t* sizes, int* tags, void** mhandles, void** phandles,
                   void** request) noexcept;
ncclResult_t iflush(void* recv_comm, int n, void** data, int* sizes, void** mhandles, void** request) noexcept;
ncclResult_t test(void* request, int* done, int* sizes) noexcept;

}  // namespace weft::plugin
