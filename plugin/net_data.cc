// The data path: from NCCL's call to the transport, without exceptions, allocation or a lock of the plugin's own.
#include <climits>
#include <cstdint>

#include "plugin/boundary.h"
#include "plugin/comm_handle.h"
#include "plugin/net_v12.h"

namespace weft::plugin {
namespace {

constexpr std::size_t kMaxGroup = 8;
static_assert(kMaxGroup == sendrecv::kMaxGroup && kMaxGroup == rdma::kMaxGroup);

/// test() reports sizes as int in every version of the ABI.
constexpr std::size_t kMaxTransferBytes = INT_MAX;

[[gnu::cold]] ncclResult_t refuse_size(const char* call, std::size_t size) noexcept {
  return refuse(
      call, Code::kArgument,
      "a transfer of %zu bytes: the plugin ABI can report no more than %zu; split it, as NCCL does by maxP2pBytes",
      size, kMaxTransferBytes);
}

/// What became of a post. A failure has been logged where its cause was known.
template <class Request>
ncclResult_t translate(PostStatus status, const Comm& comm, Request* posted, void** request) noexcept {
  if (status == PostStatus::kFailed) [[unlikely]]
    return to_nccl(comm.error().code);
  if (posted != nullptr) *request = to_handle(posted);
  return nccl::ncclSuccess;
}

/// The NIC reaches memory through its registration only.
[[gnu::cold]] ncclResult_t refuse_memory(const char* call) noexcept {
  return refuse(call, Code::kArgument, "a buffer has no mhandle, or one that does not cover it; register it first");
}

bool covers(const void* mhandle, const void* data, std::size_t size) noexcept {
  return size == 0 || (mhandle != nullptr && static_cast<const MemoryHandle*>(mhandle)->contains(data, size));
}

template <class SendComm, class Request>
ncclResult_t send(SendComm& comm, const void* data, std::size_t size, int tag, void* mhandle, void** request) noexcept {
  Request* posted = nullptr;
  const PostStatus status = comm.send(data, size, tag, static_cast<const MemoryHandle*>(mhandle), posted);
  return translate(status, comm, posted, request);
}

template <class RecvComm, class Request>
ncclResult_t receive(RecvComm& comm, int n, void** data, const std::size_t* sizes, const int* tags, void** mhandles,
                     bool optional, void** request) noexcept {
  Request* posted = nullptr;
  const PostStatus status = comm.receive(n, data, sizes, tags, mhandles, optional, posted);
  return translate(status, comm, posted, request);
}

// Out of line, so that neither transport pays for the other's registers.

[[gnu::noinline]] ncclResult_t send_rdma(rdma::SendComm& comm, const void* data, std::size_t size, int tag,
                                         void* mhandle, void** request) noexcept {
  if (!covers(mhandle, data, size)) [[unlikely]]
    return refuse_memory("isend");
  return send<rdma::SendComm, rdma::Request>(comm, data, size, tag, mhandle, request);
}

[[gnu::noinline]] ncclResult_t receive_rdma(rdma::RecvComm& comm, int n, void** data, const std::size_t* sizes,
                                            const int* tags, void** mhandles, bool optional, void** request) noexcept {
  for (int i = 0; i < n; ++i) {
    if (!covers(mhandles != nullptr ? mhandles[i] : nullptr, data[i], sizes[i])) [[unlikely]]
      return refuse_memory("irecv");
  }
  return receive<rdma::RecvComm, rdma::Request>(comm, n, data, sizes, tags, mhandles, optional, request);
}

template <class RecvComm, class Request>
ncclResult_t flush(RecvComm& comm, int n, const int* sizes, void** mhandles, void** request) noexcept {
  Request* posted = nullptr;
  const PostStatus status = comm.flush(n, sizes, mhandles, posted);
  // NCCL takes a null request for a flush that is done, so "call again" cannot be said here.
  if (status == PostStatus::kAgain) [[unlikely]]
    return refuse("iflush", Code::kInternal, "the flush was not started");
  return translate(status, comm, posted, request);
}

}  // namespace

ncclResult_t isend(void* send_comm, void* data, std::size_t size, int tag, void* mhandle, void* /*phandle*/,
                   void** request) noexcept {
  if (request == nullptr) [[unlikely]]
    return refuse("isend", Code::kArgument, "request is null");
  *request = nullptr;
  if (size > kMaxTransferBytes) [[unlikely]]
    return refuse_size("isend", size);
  if (data == nullptr && size > 0) [[unlikely]]
    return refuse("isend", Code::kArgument, "data is null");
  if (auto* const comm = from_handle<sendrecv::SendComm>(send_comm)) {
    return send<sendrecv::SendComm, sendrecv::Request>(*comm, data, size, tag, mhandle, request);
  }
  if (auto* const comm = from_handle<rdma::SendComm>(send_comm)) {
    return send_rdma(*comm, data, size, tag, mhandle, request);
  }
  return refuse("isend", Code::kArgument, "the communicator is null or no sending one");
}

ncclResult_t irecv(void* recv_comm, int n, void** data, std::size_t* sizes, int* tags, void** mhandles,
                   void** /*phandles*/, void** request) noexcept {
  if (request == nullptr) [[unlikely]]
    return refuse("irecv", Code::kArgument, "request is null");
  const bool optional = reinterpret_cast<std::uintptr_t>(*request) == nccl::kNetOptionalRecvCompletion;
  *request = nullptr;
  if (n < 1 || n > static_cast<int>(kMaxGroup)) [[unlikely]] {
    return refuse("irecv", Code::kArgument, "%d buffers; a receive takes 1 to %zu", n, kMaxGroup);
  }
  if (data == nullptr) [[unlikely]]
    return refuse("irecv", Code::kArgument, "data is null");
  if (sizes == nullptr) [[unlikely]]
    return refuse("irecv", Code::kArgument, "sizes is null");
  if (tags == nullptr) [[unlikely]]
    return refuse("irecv", Code::kArgument, "tags is null");
  for (int i = 0; i < n; ++i) {
    if (sizes[i] > kMaxTransferBytes) [[unlikely]]
      return refuse_size("irecv", sizes[i]);
    if (data[i] == nullptr && sizes[i] > 0) [[unlikely]]
      return refuse("irecv", Code::kArgument, "data[%d] is null", i);
  }
  if (auto* const comm = from_handle<sendrecv::RecvComm>(recv_comm)) {
    return receive<sendrecv::RecvComm, sendrecv::Request>(*comm, n, data, sizes, tags, mhandles, optional, request);
  }
  if (auto* const comm = from_handle<rdma::RecvComm>(recv_comm)) {
    return receive_rdma(*comm, n, data, sizes, tags, mhandles, optional, request);
  }
  return refuse("irecv", Code::kArgument, "the communicator is null or no receiving one");
}

ncclResult_t iflush(void* recv_comm, int n, void** data, int* sizes, void** mhandles, void** request) noexcept {
  if (request == nullptr) [[unlikely]]
    return refuse("iflush", Code::kArgument, "request is null");
  *request = nullptr;
  if (n < 1 || n > static_cast<int>(kMaxGroup)) [[unlikely]] {
    return refuse("iflush", Code::kArgument, "%d buffers; a flush takes 1 to %zu", n, kMaxGroup);
  }
  if (data == nullptr || sizes == nullptr) [[unlikely]]
    return refuse("iflush", Code::kArgument, "data or sizes is null");
  if (auto* const comm = from_handle<rdma::RecvComm>(recv_comm)) {
    return flush<rdma::RecvComm, rdma::Request>(*comm, n, sizes, mhandles, request);
  }
  if (auto* const comm = from_handle<sendrecv::RecvComm>(recv_comm)) {
    return flush<sendrecv::RecvComm, sendrecv::Request>(*comm, n, sizes, mhandles, request);
  }
  return refuse("iflush", Code::kArgument, "the communicator is null or no receiving one");
}

ncclResult_t test(void* request, int* done, int* sizes) noexcept {
  if (done == nullptr) [[unlikely]]
    return refuse("test", Code::kArgument, "done is null");
  if (auto* const posted = from_handle<sendrecv::Request>(request)) {
    const TestStatus status = sendrecv::test(*posted, sizes);
    *done = status == TestStatus::kDone ? 1 : 0;
    // A failure has been logged where its cause was known.
    return status != TestStatus::kFailed ? nccl::ncclSuccess : to_nccl(sendrecv::error_of(*posted).code);
  }
  if (auto* const posted = from_handle<rdma::Request>(request)) {
    const TestStatus status = rdma::test(*posted, sizes);
    *done = status == TestStatus::kDone ? 1 : 0;
    return status != TestStatus::kFailed ? nccl::ncclSuccess : to_nccl(rdma::error_of(*posted).code);
  }
  *done = 0;
  return refuse("test", Code::kArgument, "the request is null or not one of Weft's");
}

}  // namespace weft::plugin
