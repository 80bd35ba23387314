#include "tests/support/rdma_net.h"

namespace weft::test {
namespace {

using nccl::ncclResult_t;

ncclResult_t result_of(PostStatus status) {
  return status == PostStatus::kFailed ? nccl::ncclSystemError : nccl::ncclSuccess;
}

std::span<std::byte, kHandleBytes> bytes_of(void* handle) {
  return std::span<std::byte, kHandleBytes>(static_cast<std::byte*>(handle), kHandleBytes);
}

/// Hands an object over as a `Face`; it comes back by close.
template <class Face, class T>
ncclResult_t give(Result<std::unique_ptr<T>> made, void** out) {
  if (!made) return nccl::ncclSystemError;
  *out = static_cast<Face*>(made->release());
  return nccl::ncclSuccess;
}

// Registering memory does not say which kind of communicator it is for.
Comm& comm_of(void* comm) { return *static_cast<Comm*>(comm); }
rdma::SendComm& sender(void* comm) { return static_cast<rdma::SendComm&>(comm_of(comm)); }
rdma::RecvComm& receiver(void* comm) { return static_cast<rdma::RecvComm&>(comm_of(comm)); }

}  // namespace

RdmaNet::RdmaNet(const FakeFabric& fake) : NetPlugin(bench::kNewestAbi, "") {
  for (auto& device : devices_) device = open_rdma_device(fake);
}

ncclResult_t RdmaNet::listen(int dev, void* handle, void** listen_comm) {
  return give<Listener>(rdma::listen(device(dev), bytes_of(handle)), listen_comm);
}

ncclResult_t RdmaNet::connect(int dev, void* handle, void** send_comm) {
  return give<Comm>(rdma::connect(device(dev), bytes_of(handle)), send_comm);
}

ncclResult_t RdmaNet::accept(void* listen_comm, void** recv_comm) {
  return give<Comm>(rdma::accept(*static_cast<Listener*>(listen_comm)), recv_comm);
}

ncclResult_t RdmaNet::reg_mr(void* comm, void* data, std::size_t size, void** mhandle) {
  auto memory = comm_of(comm).device().register_memory(data, size, kPointerHost);
  if (!memory) return nccl::ncclSystemError;
  *mhandle = *memory;
  return nccl::ncclSuccess;
}

ncclResult_t RdmaNet::dereg_mr(void* comm, void* mhandle) {
  const auto status = comm_of(comm).device().deregister_memory(static_cast<MemoryHandle*>(mhandle));
  return status ? nccl::ncclSuccess : nccl::ncclSystemError;
}

ncclResult_t RdmaNet::isend(void* comm, void* data, std::size_t size, int tag, void* mhandle, void** request) {
  rdma::Request* posted = nullptr;
  const PostStatus status = sender(comm).send(data, size, tag, static_cast<MemoryHandle*>(mhandle), posted);
  *request = static_cast<void*>(posted);
  return result_of(status);
}

ncclResult_t RdmaNet::irecv(void* comm, int n, void** data, std::size_t* sizes, int* tags, void** mhandles,
                            void** request) {
  const bool optional = *request == reinterpret_cast<void*>(nccl::kNetOptionalRecvCompletion);
  rdma::Request* posted = nullptr;
  const PostStatus status = receiver(comm).receive(n, data, sizes, tags, mhandles, optional, posted);
  *request = static_cast<void*>(posted);
  return result_of(status);
}

ncclResult_t RdmaNet::test(void* request, int* done, int* sizes) {
  const TestStatus status = rdma::test(*static_cast<rdma::Request*>(request), sizes);
  *done = status == TestStatus::kDone ? 1 : 0;
  return status == TestStatus::kFailed ? nccl::ncclSystemError : nccl::ncclSuccess;
}

ncclResult_t RdmaNet::close_send(void* comm) {
  rdma::close(std::unique_ptr<rdma::SendComm>(&sender(comm)));
  return nccl::ncclSuccess;
}

ncclResult_t RdmaNet::close_recv(void* comm) {
  rdma::close(std::unique_ptr<rdma::RecvComm>(&receiver(comm)));
  return nccl::ncclSuccess;
}

ncclResult_t RdmaNet::close_listen(void* comm) {
  delete static_cast<Listener*>(comm);
  return nccl::ncclSuccess;
}

}  // namespace weft::test
