// Set-up: everything but the data path, which is in net_data.cc.
#include "plugin/net_v12.h"

#include <memory>
#include <span>
#include <utility>

#include "plugin/boundary.h"
#include "plugin/comm_handle.h"
#include "plugin/plugin.h"
#include "weft/log.h"

namespace weft::plugin {
namespace {

std::unexpected<Error> null_argument(const char* name) { return fail(Code::kArgument, std::string(name) + " is null"); }

std::unexpected<Error> wrong_object(const char* expected) {
  return fail(Code::kArgument, std::string("the communicator is null or not a ") + expected);
}

std::span<std::byte, nccl::kNetHandleBytes> bytes_of(void* handle) {
  return std::span<std::byte, nccl::kNetHandleBytes>(static_cast<std::byte*>(handle), nccl::kNetHandleBytes);
}

/// Hands `object` over to NCCL. The instance stays until NCCL closes it.
template <class T>
void* give(std::shared_ptr<Instance> instance, std::unique_ptr<T> object) {
  void* const handle = to_handle(object.get());
  Plugin::get().hold(handle, std::move(instance));
  static_cast<void>(object.release());
  return handle;
}

/// Closes what give() handed over. `close` gets the object back.
template <class T, class Close>
Status take_back(void* handle, const char* expected, Close close) {
  T* const object = from_handle<T>(handle);
  if (object == nullptr) return wrong_object(expected);
  // Known before it is looked into: a second close must not follow the pointer.
  TRY(const auto instance, Plugin::get().release(handle));
  close(std::unique_ptr<T>(object));
  return {};
}

/// The device of a sending or receiving communicator, nullptr if it is neither.
Device* device_of(void* comm) noexcept {
  if (const auto* send = from_handle<sendrecv::SendComm>(comm)) return &send->device();
  if (const auto* receive = from_handle<sendrecv::RecvComm>(comm)) return &receive->device();
  if (const auto* send = from_handle<rdma::SendComm>(comm)) return &send->device();
  if (const auto* receive = from_handle<rdma::RecvComm>(comm)) return &receive->device();
  return nullptr;
}

bool is_rdma(const Device& device) noexcept { return device.options().transport == TransportId::kRdma; }

Status register_memory(void* comm, void* data, std::size_t size, int type, int fd, std::uint64_t offset,
                       void** mhandle) {
  if (mhandle == nullptr) return null_argument("mhandle");
  *mhandle = nullptr;
  Device* const device = device_of(comm);
  if (device == nullptr) return wrong_object("sending or receiving one");
  TRY(*mhandle, device->register_memory(data, size, type, fd, offset));
  return {};
}

}  // namespace

ncclResult_t init(void** ctx, std::uint64_t comm_id, nccl::ncclNetCommConfig_v12_t* /*config*/,
                  nccl::ncclDebugLogger_t logger, nccl::ncclProfilerCallback_t /*profiler*/) noexcept {
  const ncclResult_t result = guard("init", [&]() -> Status {
    if (ctx == nullptr) return null_argument("ctx");
    *ctx = nullptr;
    TRY(*ctx, Plugin::get().init(comm_id, logger));
    return {};
  });
  if (result != nccl::ncclSuccess) Plugin::get().init_failed();
  return result;
}

ncclResult_t finalize(void* ctx) noexcept {
  return guard("finalize", [&] { return Plugin::get().finalize(ctx); });
}

ncclResult_t devices(int* count) noexcept {
  return guard("devices", [&]() -> Status {
    if (count == nullptr) return null_argument("ndev");
    *count = 0;
    TRY(*count, Plugin::get().count_devices());
    return {};
  });
}

ncclResult_t listen(void* ctx, int dev, void* handle, void** listen_comm) noexcept {
  return guard("listen", [&]() -> Status {
    if (listen_comm == nullptr) return null_argument("listenComm");
    *listen_comm = nullptr;
    if (handle == nullptr) return null_argument("handle");
    TRY(auto instance, Plugin::get().instance_of(ctx));
    TRY(NetDevice* const device, instance->device(dev));
    TRY(auto listener, Listener::open(device->for_listener(), bytes_of(handle)));
    *listen_comm = give(std::move(instance), std::move(listener));
    return {};
  });
}

ncclResult_t connect(void* ctx, int dev, void* handle, void** send_comm,
                     nccl::ncclNetDeviceHandle_v12_t** /*send_dev_comm*/) noexcept {
  return guard("connect", [&]() -> Status {
    if (send_comm == nullptr) return null_argument("sendComm");
    *send_comm = nullptr;
    if (handle == nullptr) return null_argument("handle");
    TRY(auto instance, Plugin::get().instance_of(ctx));
    TRY(NetDevice* const seen, instance->device(dev));
    Device& device = seen->for_connector(bytes_of(handle));
    const auto connected = [&](auto comm) -> Status {
      if (!comm) return std::unexpected(comm.error());
      if (*comm != nullptr) *send_comm = give(std::move(instance), std::move(*comm));
      return {};
    };
    return is_rdma(device) ? connected(rdma::connect(device, bytes_of(handle)))
                           : connected(sendrecv::connect(device, bytes_of(handle)));
  });
}

ncclResult_t accept(void* listen_comm, void** recv_comm, nccl::ncclNetDeviceHandle_v12_t** /*recv_dev_comm*/) noexcept {
  return guard("accept", [&]() -> Status {
    if (recv_comm == nullptr) return null_argument("recvComm");
    *recv_comm = nullptr;
    auto* const listener = from_handle<Listener>(listen_comm);
    if (listener == nullptr) return wrong_object("listening one");
    TRY(auto instance, Plugin::get().instance_behind(listen_comm));
    const auto accepted = [&](auto comm) -> Status {
      if (!comm) return std::unexpected(comm.error());
      if (*comm != nullptr) *recv_comm = give(std::move(instance), std::move(*comm));
      return {};
    };
    return is_rdma(listener->device()) ? accepted(rdma::accept(*listener)) : accepted(sendrecv::accept(*listener));
  });
}

ncclResult_t close_send(void* send_comm) noexcept {
  return guard("closeSend", [&] {
    if (from_handle<rdma::SendComm>(send_comm) != nullptr) {
      return take_back<rdma::SendComm>(send_comm, "sending one", [](auto comm) { rdma::close(std::move(comm)); });
    }
    return take_back<sendrecv::SendComm>(send_comm, "sending one", [](auto comm) { sendrecv::close(std::move(comm)); });
  });
}

ncclResult_t close_recv(void* recv_comm) noexcept {
  return guard("closeRecv", [&] {
    if (from_handle<rdma::RecvComm>(recv_comm) != nullptr) {
      return take_back<rdma::RecvComm>(recv_comm, "receiving one", [](auto comm) { rdma::close(std::move(comm)); });
    }
    return take_back<sendrecv::RecvComm>(recv_comm, "receiving one",
                                         [](auto comm) { sendrecv::close(std::move(comm)); });
  });
}

ncclResult_t close_listen(void* listen_comm) noexcept {
  return guard("closeListen", [&] {
    return take_back<Listener>(listen_comm, "listening one", [](auto listener) { listener.reset(); });
  });
}

ncclResult_t reg_mr(void* comm, void* data, std::size_t size, int type, void** mhandle) noexcept {
  constexpr int kNoDmaBuf = -1;
  return guard("regMr", [&] { return register_memory(comm, data, size, type, kNoDmaBuf, 0, mhandle); });
}

ncclResult_t reg_mr_dmabuf(void* comm, void* data, std::size_t size, int type, std::uint64_t offset, int fd,
                           void** mhandle) noexcept {
  return guard("regMrDmaBuf", [&]() -> Status {
    if (fd < 0) {
      if (mhandle != nullptr) *mhandle = nullptr;
      return fail(Code::kArgument, "the dma-buf's file descriptor is " + std::to_string(fd));
    }
    return register_memory(comm, data, size, type, fd, offset, mhandle);
  });
}

ncclResult_t dereg_mr(void* comm, void* mhandle) noexcept {
  return guard("deregMr", [&]() -> Status {
    Device* const device = device_of(comm);
    if (device == nullptr) return wrong_object("sending or receiving one");
    auto* const memory = static_cast<MemoryHandle*>(mhandle);
    // Where writes are one-sided the NIC refuses what comes later.
    if (!is_rdma(*device)) TRY_VOID(sendrecv::withdraw(*device, memory));
    return device->deregister_memory(memory);
  });
}

}  // namespace weft::plugin
