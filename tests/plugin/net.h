// One version of the plugin's ABI, driven as NCCL would, behind an interface that does not show which.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "weft/nccl/net_v12.h"

namespace weft::test {

using nccl::ncclResult_t;

/// The built plugin, loaded. Unloads at the end of its life.
class PluginLibrary {
 public:
  PluginLibrary();
  ~PluginLibrary();
  PluginLibrary(const PluginLibrary&) = delete;
  PluginLibrary& operator=(const PluginLibrary&) = delete;

  /// nullptr if it is not exported.
  const void* symbol(const std::string& name) const;
  /// True while the plugin's code is mapped into the process, whoever holds it.
  static bool is_mapped();

 private:
  void* library_;
};

/// A start of the plugin through one version: what one NCCL communicator holds. Sizes are as wide as the ABI's, and
/// cut to them without a check, so that tests can pass what does not fit.
class Net {
 public:
  virtual ~Net() = default;

  virtual int version() const = 0;
  virtual ncclResult_t init(nccl::ncclDebugLogger_t logger) = 0;
  /// Success where the version has none.
  virtual ncclResult_t finalize() = 0;
  virtual ncclResult_t devices(int* count) = 0;
  /// Fields that the version lacks stay as they are.
  virtual ncclResult_t properties(int dev, nccl::ncclNetProperties_v12_t* props) = 0;
  /// ncclInvalidUsage where the version has none.
  virtual ncclResult_t make_vdevice(int* d, int count, const std::vector<int>& members) = 0;
  virtual ncclResult_t listen(int dev, void* handle, void** comm) = 0;
  virtual ncclResult_t connect(int dev, void* handle, void** comm) = 0;
  virtual ncclResult_t accept(void* listener, void** comm) = 0;
  virtual ncclResult_t reg_mr(void* comm, void* data, std::size_t size, int type, void** mhandle) = 0;
  virtual ncclResult_t reg_mr_dmabuf(void* comm, void* data, std::size_t size, int type, std::uint64_t offset, int fd,
                                     void** mhandle) = 0;
  virtual ncclResult_t dereg_mr(void* comm, void* mhandle) = 0;
  virtual ncclResult_t isend(void* comm, void* data, std::size_t size, int tag, void* mhandle, void** request) = 0;
  virtual ncclResult_t irecv(void* comm, int n, void** data, std::size_t* sizes, int* tags, void** mhandles,
                             void** request) = 0;
  virtual ncclResult_t iflush(void* comm, int n, void** data, int* sizes, void** mhandles, void** request) = 0;
  virtual ncclResult_t test(void* request, int* done, int* sizes) = 0;
  virtual ncclResult_t close_send(void* comm) = 0;
  virtual ncclResult_t close_recv(void* comm) = 0;
  virtual ncclResult_t close_listen(void* comm) = 0;

  virtual const char* name() const = 0;
  /// Names of the functions that NCCL calls without a check and that are null.
  virtual std::vector<std::string> missing_functions() const = 0;
};

inline constexpr int kOldestVersion = 6;
inline constexpr int kNewestVersion = 12;

/// A driver of `version`; nullptr if the library does not export it. `library` must outlive it.
std::unique_ptr<Net> make_net(const PluginLibrary& library, int version);

}  // namespace weft::test
