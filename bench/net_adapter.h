// The versions of the net plugin ABI, each made to look like NetPlugin. One template: the versions differ in a few
// arguments, and those differences are all in this file.
#pragma once

#include <dlfcn.h>

#include <climits>
#include <memory>
#include <string>
#include <utility>

#include "bench/net_plugin.h"
#include "bench/plugin_log.h"
#include "bench/text.h"
#include "weft/nccl/net_v10.h"
#include "weft/nccl/net_v11.h"
#include "weft/nccl/net_v12.h"
#include "weft/nccl/net_v8.h"
#include "weft/nccl/net_v9.h"

namespace weft::bench {

struct CloseLibrary {
  void operator()(void* library) const { dlclose(library); }
};
using LibraryHandle = std::unique_ptr<void, CloseLibrary>;

/// `Net` is the version's table, `Properties` its device description.
template <int kAbi, class Net, class Properties>
class NetAdapter final : public NetPlugin {
 public:
  NetAdapter(LibraryHandle library, const Net* net, std::string path)
      : NetPlugin(kAbi, std::move(path)), library_(std::move(library)), net_(net) {}

  ~NetAdapter() override {
    // Errors have no one left to go to; the plugin logs its own.
    if constexpr (kHasContext) {
      if (initialised_) net_->finalize(context_);
    }
  }

  /// The name of a function that NCCL calls without looking and that this plugin has left out; nullptr if none.
  static const char* missing_function(const Net& net) {
    const std::pair<bool, const char*> required[] = {{net.init, "init"},
                                                     {net.devices, "devices"},
                                                     {net.getProperties, "getProperties"},
                                                     {net.listen, "listen"},
                                                     {net.connect, "connect"},
                                                     {net.accept, "accept"},
                                                     {net.regMr, "regMr"},
                                                     {net.deregMr, "deregMr"},
                                                     {net.isend, "isend"},
                                                     {net.irecv, "irecv"},
                                                     {net.test, "test"},
                                                     {net.closeSend, "closeSend"},
                                                     {net.closeRecv, "closeRecv"},
                                                     {net.closeListen, "closeListen"}};
    for (const auto& [there, name] : required) {
      if (!there) return name;
    }
    if constexpr (kHasContext) {
      if (net.finalize == nullptr) return "finalize";
    }
    return nullptr;
  }

  const char* name() const override { return net_->name != nullptr ? net_->name : "(no name)"; }

  Status init(std::uint64_t comm_id) override {
    nccl::ncclResult_t result;
    if constexpr (kHasContext) {
      nccl::ncclNetCommConfig_v10_t config{.trafficClass = nccl::kNetTrafficClassUndefined};
      result = net_->init(&context_, comm_id, &config, plugin_logger(), nullptr);
    } else if constexpr (kAbi == 10) {
      result = net_->init(plugin_logger(), nullptr);
    } else {
      result = net_->init(plugin_logger());
    }
    if (result != nccl::ncclSuccess) return call_failed("init", result);
    initialised_ = true;
    return {};
  }

  Result<int> devices() override {
    int count = 0;
    const auto result = net_->devices(&count);
    if (result != nccl::ncclSuccess) return call_failed("devices", result);
    return count;
  }

  Result<NetDevice> properties(int device) override {
    Properties properties{};
    const auto result = net_->getProperties(device, &properties);
    if (result != nccl::ncclSuccess) return call_failed("getProperties", result);
    NetDevice out;
    if (properties.name != nullptr) out.name = properties.name;
    if (properties.pciPath != nullptr) out.pci_path = properties.pciPath;
    out.speed_mbps = properties.speed;
    out.max_receives = properties.maxRecvs;
    if constexpr (kAbi >= 9) out.max_bytes = properties.maxP2pBytes;
    return out;
  }

  nccl::ncclResult_t listen(int device, void* handle, void** listen_comm) override {
    if constexpr (kHasContext)
      return net_->listen(context_, device, handle, listen_comm);
    else
      return net_->listen(device, handle, listen_comm);
  }

  nccl::ncclResult_t connect(int device, void* handle, void** send_comm) override {
    nccl::ncclNetDeviceHandle_v8_t* offload = nullptr;
    if constexpr (kHasContext) {
      return net_->connect(context_, device, handle, send_comm, &offload);
    } else if constexpr (kAbi == 10) {
      nccl::ncclNetCommConfig_v10_t config{.trafficClass = nccl::kNetTrafficClassUndefined};
      return net_->connect(device, &config, handle, send_comm, &offload);
    } else {
      return net_->connect(device, handle, send_comm, &offload);
    }
  }

  nccl::ncclResult_t accept(void* listen_comm, void** recv_comm) override {
    nccl::ncclNetDeviceHandle_v8_t* offload = nullptr;
    return net_->accept(listen_comm, recv_comm, &offload);
  }

  nccl::ncclResult_t reg_mr(void* comm, void* data, std::size_t size, void** mhandle) override {
    return net_->regMr(comm, data, size, nccl::kPtrHost, mhandle);
  }
  nccl::ncclResult_t dereg_mr(void* comm, void* mhandle) override { return net_->deregMr(comm, mhandle); }

  nccl::ncclResult_t isend(void* comm, void* data, std::size_t size, int tag, void* mhandle, void** request) override {
    if constexpr (kAbi >= 10) {
      return net_->isend(comm, data, size, tag, mhandle, nullptr, request);
    } else if constexpr (kAbi == 9) {
      return net_->isend(comm, data, size, tag, mhandle, request);
    } else {
      if (size > INT_MAX) return nccl::ncclInvalidArgument;
      return net_->isend(comm, data, static_cast<int>(size), tag, mhandle, request);
    }
  }

  nccl::ncclResult_t irecv(void* comm, int n, void** data, std::size_t* sizes, int* tags, void** mhandles,
                           void** request) override {
    if constexpr (kAbi >= 10) {
      void* profiler_handles[kMaxSubReceives] = {};
      return net_->irecv(comm, n, data, sizes, tags, mhandles, profiler_handles, request);
    } else if constexpr (kAbi == 9) {
      return net_->irecv(comm, n, data, sizes, tags, mhandles, request);
    } else {
      int narrow[kMaxSubReceives] = {};
      for (int i = 0; i < n; ++i) {
        if (sizes[i] > INT_MAX) return nccl::ncclInvalidArgument;
        narrow[i] = static_cast<int>(sizes[i]);
      }
      return net_->irecv(comm, n, data, narrow, tags, mhandles, request);
    }
  }

  nccl::ncclResult_t test(void* request, int* done, int* sizes) override { return net_->test(request, done, sizes); }
  nccl::ncclResult_t close_send(void* comm) override { return net_->closeSend(comm); }
  nccl::ncclResult_t close_recv(void* comm) override { return net_->closeRecv(comm); }
  nccl::ncclResult_t close_listen(void* comm) override { return net_->closeListen(comm); }

 private:
  static constexpr bool kHasContext = kAbi >= 11;

  std::unexpected<Error> call_failed(const char* call, nccl::ncclResult_t result) const {
    return fail(Code::kSystem, text("plugin %s: %s failed: %s", name(), call, result_text(result)));
  }

  LibraryHandle library_;
  const Net* net_;
  void* context_ = nullptr;
  bool initialised_ = false;
};

}  // namespace weft::bench
