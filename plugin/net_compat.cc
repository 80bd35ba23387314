#include "plugin/net_compat.h"

#include <array>

#include "plugin/boundary.h"
#include "plugin/net_v12.h"
#include "plugin/plugin.h"
#include "transports/sendrecv/window.h"

namespace weft::plugin::compat {
namespace {

using sendrecv::kMaxGroup;

[[gnu::cold]] ncclResult_t refuse_negative(const char* call, int size) noexcept {
  return refuse(call, Code::kArgument, "the size is negative (%d): it does not fit this version of the plugin ABI",
                size);
}

}  // namespace

ncclResult_t init(nccl::ncclDebugLogger_t logger) noexcept {
  const ncclResult_t result = guard("init", [&] { return Plugin::get().init_forever(logger); });
  if (result != nccl::ncclSuccess) Plugin::get().init_failed();
  return result;
}

ncclResult_t init_v10(nccl::ncclDebugLogger_t logger, nccl::ncclProfilerCallback_t /*profiler*/) noexcept {
  return init(logger);
}

ncclResult_t listen(int dev, void* handle, void** listen_comm) noexcept {
  return plugin::listen(nullptr, dev, handle, listen_comm);
}

ncclResult_t connect(int dev, void* handle, void** send_comm, nccl::ncclNetDeviceHandle_v9_t** send_dev_comm) noexcept {
  return plugin::connect(nullptr, dev, handle, send_comm, send_dev_comm);
}

ncclResult_t connect_v10(int dev, nccl::ncclNetCommConfig_v10_t* /*config*/, void* handle, void** send_comm,
                         nccl::ncclNetDeviceHandle_v10_t** send_dev_comm) noexcept {
  return plugin::connect(nullptr, dev, handle, send_comm, send_dev_comm);
}

ncclResult_t isend_v9(void* send_comm, void* data, std::size_t size, int tag, void* mhandle, void** request) noexcept {
  return plugin::isend(send_comm, data, size, tag, mhandle, nullptr, request);
}

ncclResult_t irecv_v9(void* recv_comm, int n, void** data, std::size_t* sizes, int* tags, void** mhandles,
                      void** request) noexcept {
  return plugin::irecv(recv_comm, n, data, sizes, tags, mhandles, nullptr, request);
}

ncclResult_t isend_v8(void* send_comm, void* data, int size, int tag, void* mhandle, void** request) noexcept {
  if (size < 0) [[unlikely]] {
    if (request != nullptr) *request = nullptr;
    return refuse_negative("isend", size);
  }
  return plugin::isend(send_comm, data, static_cast<std::size_t>(size), tag, mhandle, nullptr, request);
}

ncclResult_t irecv_v8(void* recv_comm, int n, void** data, int* sizes, int* tags, void** mhandles,
                      void** request) noexcept {
  if (request != nullptr) *request = nullptr;
  std::array<std::size_t, kMaxGroup> wide{};
  // A count out of range is refused below, before any size is read.
  const bool readable = sizes != nullptr && n >= 1 && n <= static_cast<int>(kMaxGroup);
  for (int i = 0; readable && i < n; ++i) {
    if (sizes[i] < 0) [[unlikely]]
      return refuse_negative("irecv", sizes[i]);
    wide[static_cast<std::size_t>(i)] = static_cast<std::size_t>(sizes[i]);
  }
  return plugin::irecv(recv_comm, n, data, sizes != nullptr ? wide.data() : nullptr, tags, mhandles, nullptr, request);
}

ncclResult_t reg_mr_v7(void* comm, void* data, int size, int type, void** mhandle) noexcept {
  if (size < 0) {
    if (mhandle != nullptr) *mhandle = nullptr;
    return refuse_negative("regMr", size);
  }
  return plugin::reg_mr(comm, data, static_cast<std::size_t>(size), type, mhandle);
}

ncclResult_t connect_v6(int dev, void* handle, void** send_comm) noexcept {
  return plugin::connect(nullptr, dev, handle, send_comm, nullptr);
}

ncclResult_t accept_v6(void* listen_comm, void** recv_comm) noexcept {
  return plugin::accept(listen_comm, recv_comm, nullptr);
}

}  // namespace weft::plugin::compat
