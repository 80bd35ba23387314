// Two processes in one, as in comm_pair.h, for the one-sided transport: devices of several rails on a fake EFA, one
// connection between them, and its requests.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "tests/support/comm_pair.h"
#include "transports/rdma/adapter.h"
#include "transports/rdma/transport.h"

namespace weft::test {

/// `rails` NICs that do what EFA's do.
FakeOptions rdma_options(std::size_t rails);
/// Opens all NICs of the fake as one device.
std::unique_ptr<Device> open_rdma_device(const FakeFabric& fake, const DeviceOptions& options = patient_options());
/// Lets a device make progress as NCCL's thread would between calls.
void progress_rdma(Device& device);

/// Rail i of the sender is endpoint 1 + i, rail i of the receiver endpoint 1 + rails + i.
class RdmaPair {
 public:
  explicit RdmaPair(std::size_t rails = 1, const DeviceOptions& options = patient_options());
  RdmaPair(const RdmaPair&) = delete;
  RdmaPair& operator=(const RdmaPair&) = delete;
  ~RdmaPair();

  rdma::Request* try_send(std::span<const std::byte> bytes, int tag = 0);
  rdma::Request* try_receive(std::span<const Buffer> buffers, bool optional = false);
  /// Until the sender takes it; the receiver makes no progress.
  rdma::Request* send(std::span<const std::byte> bytes, int tag = 0);
  /// One buffer of tag 0.
  rdma::Request* receive(std::span<std::byte> bytes, bool optional = false) {
    return try_receive(std::array{Buffer{bytes, 0}}, optional);
  }
  /// A part of registered memory; both sides have their own.
  std::span<std::byte> out(std::size_t offset, std::size_t bytes) { return std::span(out_).subspan(offset, bytes); }
  std::span<std::byte> in(std::size_t offset, std::size_t bytes) { return std::span(in_).subspan(offset, bytes); }

  /// The one-sided operations of a verb that have been posted, failed ones included.
  std::uint64_t posts(Verb verb) const { return fake.posts(verb); }
  std::size_t rails() const noexcept { return rails_; }

  FakeFabric fake;
  std::unique_ptr<Device> near;  ///< sends
  std::unique_ptr<Device> far;   ///< receives
  std::unique_ptr<rdma::SendComm> sender;
  std::unique_ptr<rdma::RecvComm> receiver;

  void close_sender();
  void close_receiver();

 private:
  std::size_t rails_;
  std::vector<std::byte> out_;
  std::vector<std::byte> in_;
  MemoryHandle* out_memory_ = nullptr;
  MemoryHandle* in_memory_ = nullptr;
};

/// Tests all of them in turn, as the two processes would, until all are done (kDone) or one fails.
TestStatus finish(std::span<rdma::Request* const> requests);

}  // namespace weft::test
