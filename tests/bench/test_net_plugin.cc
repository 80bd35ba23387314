// The exported tables of the test plugin: versions 8 to 12.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>

#include "tests/bench/test_net.h"
#include "weft/nccl/net_v10.h"
#include "weft/nccl/net_v11.h"
#include "weft/nccl/net_v12.h"
#include "weft/nccl/net_v8.h"
#include "weft/nccl/net_v9.h"

namespace weft::test_net {
namespace {

using namespace nccl;

ncclDebugLogger_t logger = nullptr;
int messages_sent = 0;
int posts = 0;

void warn(const char* line) {
  if (logger != nullptr) logger(NCCL_LOG_WARN, NCCL_NET, __FILE__, __LINE__, "test net: %s", line);
}

struct Listener {
  int fd;
};

/// What travels in the 128 bytes of a handle; `fd` is the connector's note to itself.
struct Handle {
  sockaddr_in address;
  int fd;
};
static_assert(sizeof(Handle) <= kNetHandleBytes);

ncclResult_t start(ncclDebugLogger_t log) {
  logger = log;
  if (Faults::get().fail_init) {
    warn("told to fail");
    return ncclSystemError;
  }
  if (logger != nullptr) logger(NCCL_LOG_INFO, NCCL_INIT, __FILE__, __LINE__, "test net: %s", "started");
  return ncclSuccess;
}

ncclResult_t devices(int* count) {
  *count = Faults::get().no_device ? 0 : 1;
  return ncclSuccess;
}

template <class Properties>
ncclResult_t properties(int /*device*/, Properties* out) {
  *out = {};
  static char name[] = "test0";
  out->name = name;
  out->speed = 10000;
  out->ptrSupport = kPtrHost;
  out->maxComms = 1 << 16;
  out->maxRecvs = kMaxReceives;
  if constexpr (requires { out->maxP2pBytes; }) out->maxP2pBytes = std::size_t{1} << 30;
  return ncclSuccess;
}

ncclResult_t listen_at(int /*device*/, void* handle_bytes, void** out) {
  Handle handle{};
  handle.fd = -1;
  handle.address.sin_family = AF_INET;
  handle.address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  socklen_t size = sizeof handle.address;
  auto* address = reinterpret_cast<sockaddr*>(&handle.address);
  if (bind(fd, address, size) != 0 || listen(fd, 8) != 0 || getsockname(fd, address, &size) != 0)
    return ncclSystemError;
  std::memcpy(handle_bytes, &handle, sizeof handle);
  *out = new Listener{fd};
  return ncclSuccess;
}

void* make_comm(int fd, bool sends) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  auto* comm = new Comm;
  comm->fd = fd;
  comm->sends = sends;
  return comm;
}

ncclResult_t connect_to(int /*device*/, void* handle_bytes, void** out) {
  *out = nullptr;
  Handle handle;
  std::memcpy(&handle, handle_bytes, sizeof handle);
  // The first call only opens the socket, so that callers that expect a connection at once are found out.
  if (handle.fd < 0) {
    handle.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    std::memcpy(handle_bytes, &handle, sizeof handle);
    return ncclSuccess;
  }
  if (connect(handle.fd, reinterpret_cast<sockaddr*>(&handle.address), sizeof handle.address) == 0 ||
      errno == EISCONN) {
    *out = make_comm(handle.fd, true);
    return ncclSuccess;
  }
  return errno == EINPROGRESS || errno == EALREADY ? ncclSuccess : ncclRemoteError;
}

ncclResult_t accept_from(void* listener, void** out) {
  *out = nullptr;
  const int fd = accept4(static_cast<Listener*>(listener)->fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd >= 0) *out = make_comm(fd, false);
  return ncclSuccess;
}

ncclResult_t reg(void* /*comm*/, void* data, std::size_t size, int type, void** handle) {
  if (type != kPtrHost || size == 0) return ncclInvalidArgument;
  *handle = data;
  return ncclSuccess;
}

ncclResult_t reg_dmabuf(void*, void*, std::size_t, int, std::uint64_t, int, void**) { return ncclInvalidUsage; }
ncclResult_t dereg(void* /*comm*/, void* /*handle*/) { return ncclSuccess; }

bool says_busy() { return Faults::get().busy && ++posts % 2 == 0; }

ncclResult_t send_message(void* comm_raw, void* data, std::size_t size, int tag, void* /*handle*/, void** out) {
  *out = nullptr;
  auto& comm = *static_cast<Comm*>(comm_raw);
  if (says_busy()) return ncclSuccess;
  Request* request = comm.acquire();
  if (request == nullptr) return ncclSuccess;
  const Faults& faults = Faults::get();
  if (++messages_sent == faults.kill_at) raise(SIGKILL);
  if (messages_sent == faults.fail_at) {
    warn("told to fail an isend");
    return ncclSystemError;
  }
  request->parts = 1;
  request->tags[0] = tag;
  request->data[0] = static_cast<std::byte*>(data);
  request->sizes[0] = size;
  comm.posted.push_back(request);
  comm.progress();
  *out = request;
  return ncclSuccess;
}

template <class Size>
ncclResult_t receive_messages(void* comm_raw, int n, void** data, Size* sizes, int* tags, void** out) {
  *out = nullptr;
  auto& comm = *static_cast<Comm*>(comm_raw);
  if (n > kMaxReceives) return ncclInvalidArgument;
  if (says_busy()) return ncclSuccess;
  Request* request = comm.acquire();
  if (request == nullptr) return ncclSuccess;
  request->parts = n;
  for (int i = 0; i < n; ++i) {
    request->tags[i] = tags[i];
    request->data[i] = static_cast<std::byte*>(data[i]);
    request->sizes[i] = static_cast<std::size_t>(sizes[i]);
  }
  comm.posted.push_back(request);
  *out = request;
  return ncclSuccess;
}

ncclResult_t flush(void*, int, void**, int*, void**, void** request) {
  *request = nullptr;
  return ncclSuccess;
}

ncclResult_t test_request(void* raw, int* done, int* sizes) {
  *done = 0;
  auto& request = *static_cast<Request*>(raw);
  const int hang_at = Faults::get().hang_at;
  if (hang_at != 0 && messages_sent >= hang_at) return ncclSuccess;
  request.comm->progress();
  if (request.done) {
    *done = 1;
    for (int i = 0; sizes != nullptr && i < request.parts; ++i) sizes[i] = static_cast<int>(request.sizes[i]);
    request.in_use = false;
    return ncclSuccess;
  }
  if (!request.comm->failed || Faults::get().deaf) return ncclSuccess;
  warn("the peer is gone, or sent more than there is room for");
  return ncclRemoteError;
}

ncclResult_t close_comm(void* raw) {
  auto* comm = static_cast<Comm*>(raw);
  close(comm->fd);
  delete comm;
  return ncclSuccess;
}

ncclResult_t close_listener(void* raw) {
  auto* listener = static_cast<Listener*>(raw);
  close(listener->fd);
  delete listener;
  return ncclSuccess;
}

// The versions' own shapes of these calls.
ncclResult_t init_v8(ncclDebugLogger_t log) { return start(log); }
ncclResult_t init_v10(ncclDebugLogger_t log, ncclProfilerCallback_t) { return start(log); }
ncclResult_t init_v11(void** context, std::uint64_t, ncclNetCommConfig_v10_t*, ncclDebugLogger_t log,
                      ncclProfilerCallback_t) {
  static int the_context = 0;
  *context = &the_context;
  return start(log);
}
ncclResult_t finalize(void* context) { return context != nullptr ? ncclSuccess : ncclInvalidArgument; }
ncclResult_t listen_v11(void* context, int device, void* handle, void** out) {
  return context != nullptr ? listen_at(device, handle, out) : ncclInvalidArgument;
}
ncclResult_t connect_v8(int device, void* handle, void** out, ncclNetDeviceHandle_v8_t**) {
  return connect_to(device, handle, out);
}
ncclResult_t connect_v10(int device, ncclNetCommConfig_v10_t*, void* handle, void** out, ncclNetDeviceHandle_v8_t**) {
  return connect_to(device, handle, out);
}
ncclResult_t connect_v11(void* context, int device, void* handle, void** out, ncclNetDeviceHandle_v8_t**) {
  return context != nullptr ? connect_to(device, handle, out) : ncclInvalidArgument;
}
ncclResult_t accept_v8(void* listener, void** out, ncclNetDeviceHandle_v8_t**) { return accept_from(listener, out); }
ncclResult_t isend_v8(void* comm, void* data, int size, int tag, void* handle, void** out) {
  return send_message(comm, data, static_cast<std::size_t>(size), tag, handle, out);
}
ncclResult_t isend_v10(void* comm, void* data, std::size_t size, int tag, void* handle, void*, void** out) {
  return send_message(comm, data, size, tag, handle, out);
}
ncclResult_t irecv_v8(void* comm, int n, void** data, int* sizes, int* tags, void**, void** out) {
  return receive_messages(comm, n, data, sizes, tags, out);
}
ncclResult_t irecv_v9(void* comm, int n, void** data, std::size_t* sizes, int* tags, void**, void** out) {
  return receive_messages(comm, n, data, sizes, tags, out);
}
ncclResult_t irecv_v10(void* comm, int n, void** data, std::size_t* sizes, int* tags, void**, void**, void** out) {
  return receive_messages(comm, n, data, sizes, tags, out);
}

}  // namespace
}  // namespace weft::test_net

using namespace weft::nccl;
using namespace weft::test_net;

#define WEFT_EXPORT extern "C" __attribute__((visibility("default")))

WEFT_EXPORT const ncclNet_v8_t ncclNetPlugin_v8 = {
    "Test",         init_v8,      devices,    properties<ncclNetProperties_v8_t>,
    listen_at,      connect_v8,   accept_v8,  reg,
    reg_dmabuf,     dereg,        isend_v8,   irecv_v8,
    flush,          test_request, close_comm, close_comm,
    close_listener, nullptr,      nullptr};
WEFT_EXPORT const ncclNet_v9_t ncclNetPlugin_v9 = {
    "Test",         init_v8,      devices,      properties<ncclNetProperties_v9_t>,
    listen_at,      connect_v8,   accept_v8,    reg,
    reg_dmabuf,     dereg,        send_message, irecv_v9,
    flush,          test_request, close_comm,   close_comm,
    close_listener, nullptr,      nullptr,      nullptr};
WEFT_EXPORT const ncclNet_v10_t ncclNetPlugin_v10 = {
    "Test",         init_v10,     devices,    properties<ncclNetProperties_v10_t>,
    listen_at,      connect_v10,  accept_v8,  reg,
    reg_dmabuf,     dereg,        isend_v10,  irecv_v10,
    flush,          test_request, close_comm, close_comm,
    close_listener, nullptr,      nullptr,    nullptr};
WEFT_EXPORT const ncclNet_v11_t ncclNetPlugin_v11 = {
    "Test",         init_v11,     devices,    properties<ncclNetProperties_v11_t>,
    listen_v11,     connect_v11,  accept_v8,  reg,
    reg_dmabuf,     dereg,        isend_v10,  irecv_v10,
    flush,          test_request, close_comm, close_comm,
    close_listener, nullptr,      nullptr,    nullptr,
    finalize,       nullptr};
WEFT_EXPORT const ncclNet_v12_t ncclNetPlugin_v12 = {
    "Test",         init_v11,     devices,    properties<ncclNetProperties_v12_t>,
    listen_v11,     connect_v11,  accept_v8,  reg,
    reg_dmabuf,     dereg,        isend_v10,  irecv_v10,
    flush,          test_request, close_comm, close_comm,
    close_listener, nullptr,      nullptr,    nullptr,
    finalize,       nullptr};
