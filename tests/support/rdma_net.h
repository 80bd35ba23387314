// The one-sided transport behind the benchmark's face of a plugin, so that tests can drive it over the fake fabric as
// they drive the built plugin over real ones.
#pragma once

#include <array>
#include <memory>

#include "bench/net_plugin.h"
#include "tests/support/rdma_pair.h"

namespace weft::test {

/// Two devices of all the fake's NICs.
class RdmaNet final : public bench::NetPlugin {
 public:
  explicit RdmaNet(const FakeFabric& fake);

  Device& device(int which) { return *devices_[static_cast<std::size_t>(which)]; }

  const char* name() const override { return "the RDMA transport"; }
  Status init(std::uint64_t) override { return {}; }
  Result<int> devices() override { return static_cast<int>(devices_.size()); }
  Result<bench::NetDevice> properties(int) override { return bench::NetDevice{}; }

  nccl::ncclResult_t listen(int device, void* handle, void** listen_comm) override;
  nccl::ncclResult_t connect(int device, void* handle, void** send_comm) override;
  nccl::ncclResult_t accept(void* listen_comm, void** recv_comm) override;
  nccl::ncclResult_t reg_mr(void* comm, void* data, std::size_t size, void** mhandle) override;
  nccl::ncclResult_t dereg_mr(void* comm, void* mhandle) override;
  nccl::ncclResult_t isend(void* comm, void* data, std::size_t size, int tag, void* mhandle, void** request) override;
  nccl::ncclResult_t irecv(void* comm, int n, void** data, std::size_t* sizes, int* tags, void** mhandles,
                           void** request) override;
  nccl::ncclResult_t test(void* request, int* done, int* sizes) override;
  nccl::ncclResult_t close_send(void* comm) override;
  nccl::ncclResult_t close_recv(void* comm) override;
  nccl::ncclResult_t close_listen(void* comm) override;

 private:
  std::array<std::unique_ptr<Device>, 2> devices_;
};

}  // namespace weft::test
