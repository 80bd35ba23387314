// The data path: from NCCL's call to the transport, without exceptions, allocation or a lock of the plugin's own.
#include <climits>
#include <cstdint>

#include "plugin/boundary.h"
#include "plugin/comm_handle.h"
#include "plugin/net_v12.h"

namespace weft::plugin {
namespace {

using sendrecv::kMaxGroup;
using sendrecv::RecvComm;
using sendrecv::Request;
using sendrecv::SendComm;

/// test() reports sizes as int in every version of the ABI.
constexpr std::size_t kMaxTransferBytes = INT_MAX;

[[gnu::cold]] ncclResult_t refuse_size(const char* call, std::size_t size) noexcept {
  return refuse(
      call, Code::kArgument,
      "a transfer of %zu bytes: the plugin ABI can report no more than %zu; split it, as NCCL does by maxP2pBytes",
      size, kMaxTransferBytes);
}

/// What became of a post. A failure has been logged where its cause was known.
ncclResult_t translate(PostStatus status, const sendrecv::Comm& comm, Request* posted, void** request) noexcept {
  if (status == PostStatus::kFailed) [[unlikely]]
    return to_nccl(comm.error().code);
  if (posted != nullptr) *request = to_handle(posted);
  return nccl::ncclSuccess;
}

}  // namespace

ncclResult_t isend(void* send_comm, void* data, std::size_t size, int tag, void* mhandle, void* /*phandle*/,
                   void** request) noexcept {
  if (request == nullptr) [[unlikely]]
    return refuse("isend", Code::kArgument, "request is null");
  *request = nullptr;
  auto* const comm = from_handle<SendComm>(send_comm);
  if (comm == nullptr) [[unlikely]]
    return refuse("isend", Code::kArgument, "the communicator is null or no sending one");
  if (size > kMaxTransferBytes) [[unlikely]]
    return refuse_size("isend", size);
  if (data == nullptr && size > 0) [[unlikely]]
    return refuse("isend", Code::kArgument, "data is null");
  Request* posted = nullptr;
  const PostStatus status = comm->send(data, size, tag, static_cast<const MemoryHandle*>(mhandle), posted);
  return translate(status, *comm, posted, request);
}

ncclResult_t irecv(void* recv_comm, int n, void** data, std::size_t* sizes, int* tags, void** mhandles,
                   void** /*phandles*/, void** request) noexcept {
  if (request == nullptr) [[unlikely]]
    return refuse("irecv", Code::kArgument, "request is null");
  const bool optional = reinterpret_cast<std::uintptr_t>(*request) == nccl::kNetOptionalRecvCompletion;
  *request = nullptr;
  auto* const comm = from_handle<RecvComm>(recv_comm);
  if (comm == nullptr) [[unlikely]]
    return refuse("irecv", Code::kArgument, "the communicator is null or no receiving one");
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
  Request* posted = nullptr;
  const PostStatus status = comm->receive(n, data, sizes, tags, mhandles, optional, posted);
  return translate(status, *comm, posted, request);
}

ncclResult_t iflush(void* recv_comm, int n, void** data, int* sizes, void** mhandles, void** request) noexcept {
  if (request == nullptr) [[unlikely]]
    return refuse("iflush", Code::kArgument, "request is null");
  *request = nullptr;
  auto* const comm = from_handle<RecvComm>(recv_comm);
  if (comm == nullptr) [[unlikely]]
    return refuse("iflush", Code::kArgument, "the communicator is null or no receiving one");
  if (n < 1 || n > static_cast<int>(kMaxGroup)) [[unlikely]] {
    return refuse("iflush", Code::kArgument, "%d buffers; a flush takes 1 to %zu", n, kMaxGroup);
  }
  if (data == nullptr || sizes == nullptr) [[unlikely]]
    return refuse("iflush", Code::kArgument, "data or sizes is null");
  Request* posted = nullptr;
  const PostStatus status = comm->flush(n, data, sizes, mhandles, posted);
  // NCCL takes a null request for a flush that is done, so "call again" cannot be said here.
  if (status == PostStatus::kAgain) [[unlikely]]
    return refuse("iflush", Code::kInternal, "the flush was not started");
  return translate(status, *comm, posted, request);
}

ncclResult_t test(void* request, int* done, int* sizes) noexcept {
  if (done == nullptr) [[unlikely]]
    return refuse("test", Code::kArgument, "done is null");
  auto* const posted = from_handle<Request>(request);
  if (posted == nullptr) [[unlikely]] {
    *done = 0;
    return refuse("test", Code::kArgument, "the request is null or not one of Weft's");
  }
  const TestStatus status = sendrecv::test(*posted, sizes);
  *done = status == TestStatus::kDone ? 1 : 0;
  if (status != TestStatus::kFailed) [[likely]]
    return nccl::ncclSuccess;
  // Logged where its cause was known.
  return to_nccl(sendrecv::error_of(*posted).code);
}

}  // namespace weft::plugin
