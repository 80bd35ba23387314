// The data path: from NCCL's call to the transport, without exceptions, allocation or a lock of the plugin's own.
#include <climits>
#include <cstdint>
#include <type_traits>

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

[[gnu::cold]] ncclResult_t refuse_null(const char* call, const char* name, int i) noexcept {
  return refuse(call, Code::kArgument, "%s[%d] is null", name, i);
}
[[gnu::cold]] ncclResult_t refuse_null(const char* call, const char* name) noexcept {
  return refuse(call, Code::kArgument, "%s is null", name);
}

/// The NIC reaches memory through its registration only. Send/receive can do without where the provider needs none.
template <class Comm>
constexpr bool kReachesMemoryByHandle = std::is_base_of_v<rdma::Connection, Comm>;

[[gnu::cold]] ncclResult_t refuse_memory(const char* call) noexcept {
  return refuse(call, Code::kArgument, "a buffer has no mhandle, or one that does not cover it; register it first");
}

bool covers(const void* mhandle, const void* data, std::size_t size) noexcept {
  return (mhandle != nullptr && static_cast<const MemoryHandle*>(mhandle)->contains(data, size)) || size == 0;
}

// One transport's isend, irecv and test. Out of line and with NCCL's own arguments: the functions NCCL calls only jump
// here, and neither transport pays for the other's registers.

template <class SendComm, class Request>
[[gnu::noinline]] ncclResult_t send(void* send_comm, void* data, std::size_t size, int tag, void* mhandle,
                                    void* /*phandle*/, void** request) noexcept {
  auto& comm = behind_handle<SendComm>(send_comm);
  if (request == nullptr) [[unlikely]]
    return refuse_null("isend", "request");
  *request = nullptr;
  if (size > kMaxTransferBytes) [[unlikely]]
    return refuse_size("isend", size);
  if constexpr (kReachesMemoryByHandle<SendComm>) {
    if (!covers(mhandle, data, size)) [[unlikely]]
      return data == nullptr ? refuse_null("isend", "data") : refuse_memory("isend");
  } else if (data == nullptr && size > 0) [[unlikely]] {
    return refuse_null("isend", "data");
  }
  Request* posted = nullptr;
  const PostStatus status = comm.send(data, size, tag, static_cast<const MemoryHandle*>(mhandle), posted);
  return translate(status, comm, posted, request);
}

template <class RecvComm, class Request>
[[gnu::noinline]] ncclResult_t receive(void* recv_comm, int n, void** data, std::size_t* sizes, int* tags,
                                       void** mhandles, void** /*phandles*/, void** request) noexcept {
  auto& comm = behind_handle<RecvComm>(recv_comm);
  if (request == nullptr) [[unlikely]]
    return refuse_null("irecv", "request");
  const bool optional = reinterpret_cast<std::uintptr_t>(*request) == nccl::kNetOptionalRecvCompletion;
  *request = nullptr;
  if (n < 1 || n > static_cast<int>(kMaxGroup)) [[unlikely]]
    return refuse("irecv", Code::kArgument, "%d buffers; a receive takes 1 to %zu", n, kMaxGroup);
  if (data == nullptr) [[unlikely]]
    return refuse_null("irecv", "data");
  if (sizes == nullptr) [[unlikely]]
    return refuse_null("irecv", "sizes");
  if (tags == nullptr) [[unlikely]]
    return refuse_null("irecv", "tags");
  for (int i = 0; i < n; ++i) {
    if (sizes[i] > kMaxTransferBytes) [[unlikely]]
      return refuse_size("irecv", sizes[i]);
    if constexpr (kReachesMemoryByHandle<RecvComm>) {
      if (!covers(mhandles != nullptr ? mhandles[i] : nullptr, data[i], sizes[i])) [[unlikely]]
        return data[i] == nullptr ? refuse_null("irecv", "data", i) : refuse_memory("irecv");
    } else if (data[i] == nullptr && sizes[i] > 0) [[unlikely]] {
      return refuse_null("irecv", "data", i);
    }
  }
  Request* posted = nullptr;
  const PostStatus status = comm.receive(n, data, sizes, tags, mhandles, optional, posted);
  return translate(status, comm, posted, request);
}

template <class Request>
[[gnu::noinline]] ncclResult_t test_request(void* request, int* done, int* sizes) noexcept {
  auto& posted = behind_handle<Request>(request);
  if (done == nullptr) [[unlikely]]
    return refuse_null("test", "done");
  const TestStatus status = test(posted, sizes);  // the transport's, found by its type
  *done = status == TestStatus::kDone ? 1 : 0;
  // A failure has been logged where its cause was known.
  return status != TestStatus::kFailed ? nccl::ncclSuccess : to_nccl(error_of(posted).code);
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

ncclResult_t isend(void* send_comm, void* data, std::size_t size, int tag, void* mhandle, void* phandle,
                   void** request) noexcept {
  if (is_handle_of<sendrecv::SendComm>(send_comm))
    return send<sendrecv::SendComm, sendrecv::Request>(send_comm, data, size, tag, mhandle, phandle, request);
  if (is_handle_of<rdma::SendComm>(send_comm))
    return send<rdma::SendComm, rdma::Request>(send_comm, data, size, tag, mhandle, phandle, request);
  if (request != nullptr) *request = nullptr;
  return refuse("isend", Code::kArgument, "the communicator is null or no sending one");
}

ncclResult_t irecv(void* recv_comm, int n, void** data, std::size_t* sizes, int* tags, void** mhandles, void** phandles,
                   void** request) noexcept {
  if (is_handle_of<sendrecv::RecvComm>(recv_comm))
    return receive<sendrecv::RecvComm, sendrecv::Request>(recv_comm, n, data, sizes, tags, mhandles, phandles, request);
  if (is_handle_of<rdma::RecvComm>(recv_comm))
    return receive<rdma::RecvComm, rdma::Request>(recv_comm, n, data, sizes, tags, mhandles, phandles, request);
  if (request != nullptr) *request = nullptr;
  return refuse("irecv", Code::kArgument, "the communicator is null or no receiving one");
}

ncclResult_t iflush(void* recv_comm, int n, void** data, int* sizes, void** mhandles, void** request) noexcept {
  if (request == nullptr) [[unlikely]]
    return refuse_null("iflush", "request");
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
  if (is_handle_of<sendrecv::Request>(request)) return test_request<sendrecv::Request>(request, done, sizes);
  if (is_handle_of<rdma::Request>(request)) return test_request<rdma::Request>(request, done, sizes);
  if (done != nullptr) *done = 0;
  return refuse("test", Code::kArgument, "the request is null or not one of Weft's");
}

}  // namespace weft::plugin
