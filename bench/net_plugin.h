// A NCCL net plugin of any version from v8 to v12, behind one face.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "weft/nccl/net_common.h"
#include "weft/result.h"

namespace weft::bench {

inline constexpr int kOldestAbi = 8;
inline constexpr int kNewestAbi = 12;
/// Buffers of one grouped receive, at most.
inline constexpr int kMaxSubReceives = 8;

/// What a device says about itself, as far as a benchmark cares.
struct NetDevice {
  std::string name;
  std::string pci_path;
  int speed_mbps = 0;
  int max_receives = 1;
  std::size_t max_bytes = 0;  ///< largest transfer; 0 where the ABI does not say
};

/// One loaded and initialised plugin. Calls return the plugin's own results; what they mean is NCCL's documentation.
/// One thread. The destructor finalises and unloads it.
class NetPlugin {
 public:
  /// Loads `path` and takes the newest table it exports, or that of version `abi` if not 0. Does not run init.
  static Result<std::unique_ptr<NetPlugin>> load(const std::string& path, int abi);

  virtual ~NetPlugin() = default;
  NetPlugin(const NetPlugin&) = delete;
  NetPlugin& operator=(const NetPlugin&) = delete;

  int abi() const { return abi_; }
  const std::string& path() const { return path_; }
  virtual const char* name() const = 0;

  /// Runs the plugin's init; `comm_id` names the communicator.
  virtual Status init(std::uint64_t comm_id) = 0;
  virtual Result<int> devices() = 0;
  virtual Result<NetDevice> properties(int device) = 0;

  virtual nccl::ncclResult_t listen(int device, void* handle, void** listen_comm) = 0;
  virtual nccl::ncclResult_t connect(int device, void* handle, void** send_comm) = 0;
  virtual nccl::ncclResult_t accept(void* listen_comm, void** recv_comm) = 0;
  virtual nccl::ncclResult_t reg_mr(void* comm, void* data, std::size_t size, void** mhandle) = 0;
  virtual nccl::ncclResult_t dereg_mr(void* comm, void* mhandle) = 0;
  virtual nccl::ncclResult_t isend(void* comm, void* data, std::size_t size, int tag, void* mhandle,
                                   void** request) = 0;
  virtual nccl::ncclResult_t irecv(void* comm, int n, void** data, std::size_t* sizes, int* tags, void** mhandles,
                                   void** request) = 0;
  virtual nccl::ncclResult_t test(void* request, int* done, int* sizes) = 0;
  virtual nccl::ncclResult_t close_send(void* comm) = 0;
  virtual nccl::ncclResult_t close_recv(void* comm) = 0;
  virtual nccl::ncclResult_t close_listen(void* comm) = 0;

 protected:
  NetPlugin(int abi, std::string path) : abi_(abi), path_(std::move(path)) {}

 private:
  int abi_;
  std::string path_;
};

/// "remote error (ncclRemoteError)": for messages.
const char* result_text(nccl::ncclResult_t result);

}  // namespace weft::bench
