#include "tests/plugin/net.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "weft/nccl/net_v10.h"
#include "weft/nccl/net_v11.h"
#include "weft/nccl/net_v6.h"
#include "weft/nccl/net_v7.h"
#include "weft/nccl/net_v8.h"
#include "weft/nccl/net_v9.h"

namespace weft::test {
namespace {

template <class Table>
struct TableTraits;
template <>
struct TableTraits<nccl::ncclNet_v6_t> {
  static constexpr int kVersion = 6;
  using Properties = nccl::ncclNetProperties_v6_t;
  using Size = int;
  using RegistrationSize = int;
};
template <>
struct TableTraits<nccl::ncclNet_v7_t> {
  static constexpr int kVersion = 7;
  using Properties = nccl::ncclNetProperties_v7_t;
  using Size = int;
  using RegistrationSize = int;
};
template <>
struct TableTraits<nccl::ncclNet_v8_t> {
  static constexpr int kVersion = 8;
  using Properties = nccl::ncclNetProperties_v8_t;
  using Size = int;
  using RegistrationSize = std::size_t;
};
template <>
struct TableTraits<nccl::ncclNet_v9_t> {
  static constexpr int kVersion = 9;
  using Properties = nccl::ncclNetProperties_v9_t;
  using Size = std::size_t;
  using RegistrationSize = std::size_t;
};
template <>
struct TableTraits<nccl::ncclNet_v10_t> : TableTraits<nccl::ncclNet_v9_t> {
  static constexpr int kVersion = 10;
};
template <>
struct TableTraits<nccl::ncclNet_v11_t> : TableTraits<nccl::ncclNet_v9_t> {
  static constexpr int kVersion = 11;
  using Properties = nccl::ncclNetProperties_v11_t;
};
template <>
struct TableTraits<nccl::ncclNet_v12_t> : TableTraits<nccl::ncclNet_v9_t> {
  static constexpr int kVersion = 12;
  using Properties = nccl::ncclNetProperties_v12_t;
};

/// Copies what both versions of the struct have.
template <class From>
void widen(const From& from, nccl::ncclNetProperties_v12_t& to) {
  to.name = from.name;
  to.pciPath = from.pciPath;
  to.guid = from.guid;
  to.ptrSupport = from.ptrSupport;
  to.speed = from.speed;
  to.port = from.port;
  to.latency = from.latency;
  to.maxComms = from.maxComms;
  to.maxRecvs = from.maxRecvs;
  if constexpr (requires { from.netDeviceType; }) {
    to.netDeviceType = from.netDeviceType;
    to.netDeviceVersion = from.netDeviceVersion;
  }
  if constexpr (requires { from.regIsGlobal; }) to.regIsGlobal = from.regIsGlobal;
  if constexpr (requires { from.forceFlush; }) to.forceFlush = from.forceFlush;
  if constexpr (requires { from.vProps; }) {
    to.vProps.ndevs = from.vProps.ndevs;
    for (int i = 0; i < from.vProps.ndevs; ++i) to.vProps.devs[i] = from.vProps.devs[i];
  }
  if constexpr (requires { from.maxP2pBytes; }) {
    to.maxP2pBytes = from.maxP2pBytes;
    to.maxCollBytes = from.maxCollBytes;
  }
  if constexpr (requires { from.maxMultiRequestSize; }) to.maxMultiRequestSize = from.maxMultiRequestSize;
  if constexpr (requires { from.railId; }) {
    to.railId = from.railId;
    to.planeId = from.planeId;
  }
}

template <class Table>
class NetOf final : public Net {
 public:
  using Traits = TableTraits<Table>;
  static constexpr int kVersion = Traits::kVersion;

  explicit NetOf(const Table& table) : table_(table) {}

  int version() const override { return kVersion; }
  const char* name() const override { return table_.name; }

  ncclResult_t init(nccl::ncclDebugLogger_t logger) override {
    if constexpr (kVersion >= 11) {
      nccl::ncclNetCommConfig_v11_t config{nccl::kNetTrafficClassUndefined};
      return table_.init(&context_, 0x1234, &config, logger, nullptr);
    } else if constexpr (kVersion == 10) {
      return table_.init(logger, nullptr);
    } else {
      return table_.init(logger);
    }
  }
  ncclResult_t finalize() override {
    if constexpr (kVersion >= 11) {
      return table_.finalize(context_);
    } else {
      return nccl::ncclSuccess;
    }
  }
  ncclResult_t devices(int* count) override { return table_.devices(count); }
  ncclResult_t properties(int dev, nccl::ncclNetProperties_v12_t* props) override {
    typename Traits::Properties narrow;
    // Garbage, as on NCCL's stack.
    std::fill_n(reinterpret_cast<unsigned char*>(&narrow), sizeof narrow, 0xa5);
    const ncclResult_t result = table_.getProperties(dev, props != nullptr ? &narrow : nullptr);
    if (props != nullptr && result == nccl::ncclSuccess) widen(narrow, *props);
    return result;
  }
  ncclResult_t make_vdevice(int* d, int count, const std::vector<int>& members) override {
    if constexpr (kVersion >= 9) {
      decltype(Traits::Properties::vProps) props{};
      props.ndevs = count;
      for (std::size_t i = 0; i < std::min(members.size(), std::size(props.devs)); ++i) props.devs[i] = members[i];
      return table_.makeVDevice(d, &props);
    }
    return nccl::ncclInvalidUsage;
  }
  ncclResult_t listen(int dev, void* handle, void** comm) override {
    if constexpr (kVersion >= 11) {
      return table_.listen(context_, dev, handle, comm);
    } else {
      return table_.listen(dev, handle, comm);
    }
  }
  ncclResult_t connect(int dev, void* handle, void** comm) override {
    if constexpr (kVersion >= 11) {
      return table_.connect(context_, dev, handle, comm, nullptr);
    } else if constexpr (kVersion == 10) {
      nccl::ncclNetCommConfig_v10_t config{nccl::kNetTrafficClassUndefined};
      return table_.connect(dev, &config, handle, comm, nullptr);
    } else if constexpr (kVersion >= 7) {
      return table_.connect(dev, handle, comm, nullptr);
    } else {
      return table_.connect(dev, handle, comm);
    }
  }
  ncclResult_t accept(void* listener, void** comm) override {
    if constexpr (kVersion >= 7) {
      return table_.accept(listener, comm, nullptr);
    } else {
      return table_.accept(listener, comm);
    }
  }
  ncclResult_t reg_mr(void* comm, void* data, std::size_t size, int type, void** mhandle) override {
    return table_.regMr(comm, data, static_cast<typename Traits::RegistrationSize>(size), type, mhandle);
  }
  ncclResult_t reg_mr_dmabuf(void* comm, void* data, std::size_t size, int type, std::uint64_t offset, int fd,
                             void** mhandle) override {
    return table_.regMrDmaBuf(comm, data, size, type, offset, fd, mhandle);
  }
  ncclResult_t dereg_mr(void* comm, void* mhandle) override { return table_.deregMr(comm, mhandle); }
  ncclResult_t isend(void* comm, void* data, std::size_t size, int tag, void* mhandle, void** request) override {
    const auto narrow = static_cast<typename Traits::Size>(size);
    if constexpr (kVersion >= 10) {
      return table_.isend(comm, data, narrow, tag, mhandle, nullptr, request);
    } else {
      return table_.isend(comm, data, narrow, tag, mhandle, request);
    }
  }
  ncclResult_t irecv(void* comm, int n, void** data, std::size_t* sizes, int* tags, void** mhandles,
                     void** request) override {
    std::vector<typename Traits::Size> narrow;
    for (int i = 0; sizes != nullptr && i < n; ++i) narrow.push_back(static_cast<typename Traits::Size>(sizes[i]));
    auto* const sizes_or_null = sizes != nullptr ? narrow.data() : nullptr;
    if constexpr (kVersion >= 10) {
      return table_.irecv(comm, n, data, sizes_or_null, tags, mhandles, nullptr, request);
    } else {
      return table_.irecv(comm, n, data, sizes_or_null, tags, mhandles, request);
    }
  }
  ncclResult_t iflush(void* comm, int n, void** data, int* sizes, void** mhandles, void** request) override {
    return table_.iflush(comm, n, data, sizes, mhandles, request);
  }
  ncclResult_t test(void* request, int* done, int* sizes) override { return table_.test(request, done, sizes); }
  ncclResult_t close_send(void* comm) override { return table_.closeSend(comm); }
  ncclResult_t close_recv(void* comm) override { return table_.closeRecv(comm); }
  ncclResult_t close_listen(void* comm) override { return table_.closeListen(comm); }

  std::vector<std::string> missing_functions() const override {
    std::vector<std::string> missing;
    const auto need = [&missing](auto* function, const char* function_name) {
      if (function == nullptr) missing.emplace_back(function_name);
    };
    need(table_.init, "init");
    need(table_.devices, "devices");
    need(table_.getProperties, "getProperties");
    need(table_.listen, "listen");
    need(table_.connect, "connect");
    need(table_.accept, "accept");
    need(table_.regMr, "regMr");
    need(table_.regMrDmaBuf, "regMrDmaBuf");
    need(table_.deregMr, "deregMr");
    need(table_.isend, "isend");
    need(table_.irecv, "irecv");
    need(table_.iflush, "iflush");
    need(table_.test, "test");
    need(table_.closeSend, "closeSend");
    need(table_.closeRecv, "closeRecv");
    need(table_.closeListen, "closeListen");
    if constexpr (kVersion >= 11) need(table_.finalize, "finalize");
    return missing;
  }

 private:
  const Table& table_;
  void* context_ = nullptr;
};

template <class Table>
std::unique_ptr<Net> make_net_of(const PluginLibrary& library) {
  const auto* table = library.symbol("ncclNetPlugin_v" + std::to_string(TableTraits<Table>::kVersion));
  if (table == nullptr) return nullptr;
  return std::make_unique<NetOf<Table>>(*static_cast<const Table*>(table));
}

}  // namespace

PluginLibrary::PluginLibrary() : library_(dlopen(WEFT_PLUGIN_PATH, RTLD_NOW | RTLD_LOCAL)) {
  EXPECT_NE(library_, nullptr) << dlerror();
}

PluginLibrary::~PluginLibrary() {
  if (library_ != nullptr) dlclose(library_);
}

const void* PluginLibrary::symbol(const std::string& name) const {
  return library_ != nullptr ? dlsym(library_, name.c_str()) : nullptr;
}

bool PluginLibrary::is_mapped() {
  void* const library = dlopen(WEFT_PLUGIN_PATH, RTLD_NOW | RTLD_NOLOAD);
  if (library != nullptr) dlclose(library);
  return library != nullptr;
}

std::unique_ptr<Net> make_net(const PluginLibrary& library, int version) {
  switch (version) {
    case 6: return make_net_of<nccl::ncclNet_v6_t>(library);
    case 7: return make_net_of<nccl::ncclNet_v7_t>(library);
    case 8: return make_net_of<nccl::ncclNet_v8_t>(library);
    case 9: return make_net_of<nccl::ncclNet_v9_t>(library);
    case 10: return make_net_of<nccl::ncclNet_v10_t>(library);
    case 11: return make_net_of<nccl::ncclNet_v11_t>(library);
    case 12: return make_net_of<nccl::ncclNet_v12_t>(library);
    default: return nullptr;
  }
}

}  // namespace weft::test
