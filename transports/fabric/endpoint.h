// The endpoint: where operations are posted. The hot path's last stop before the provider.
#pragma once

#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "transports/fabric/address_vector.h"
#include "transports/fabric/completion_queue.h"
#include "transports/fabric/domain.h"
#include "transports/fabric/operation.h"
#include "weft/post.h"

namespace weft::fabric {

/// What became of a post. `error` is the positive FI_E... number when it failed, else 0.
struct PostResult {
  PostStatus status;
  int error;

  static PostResult from(ssize_t rc) noexcept {
    if (rc == 0) [[likely]]
      return {PostStatus::kPosted, 0};
    if (rc == -FI_EAGAIN) return {PostStatus::kAgain, 0};
    return {PostStatus::kFailed, static_cast<int>(-rc)};
  }
};

/// Where a one-sided operation reaches in the peer's memory: an address or an offset (Domain::uses_virtual_addresses of
/// the peer), and the key of its registration.
struct RemoteMemory {
  std::uint64_t address;
  std::uint64_t key;
};

/// Not thread safe: callers hold the device's lock. Posted buffers, descriptors and operations belong to the provider
/// until the operation's completion has been read.
class Endpoint {
 public:
  static Result<Endpoint> open(const Domain& domain, CompletionQueue& cq, AddressVector& av);

  PostResult send(const void* data, std::size_t size, void* descriptor, fi_addr_t to, Operation& operation) noexcept {
    return PostResult::from(fi_send(ep_.get(), data, size, descriptor, to, &operation));
  }
  PostResult receive(void* data, std::size_t size, void* descriptor, Operation& operation) noexcept {
    return PostResult::from(fi_recv(ep_.get(), data, size, descriptor, FI_ADDR_UNSPEC, &operation));
  }
  PostResult tagged_send(const void* data, std::size_t size, void* descriptor, fi_addr_t to, std::uint64_t tag,
                         Operation& operation) noexcept {
    return PostResult::from(fi_tsend(ep_.get(), data, size, descriptor, to, tag, &operation));
  }
  PostResult tagged_receive(void* data, std::size_t size, void* descriptor, std::uint64_t tag,
                            Operation& operation) noexcept {
    return PostResult::from(fi_trecv(ep_.get(), data, size, descriptor, FI_ADDR_UNSPEC, tag, 0, &operation));
  }

  PostResult write(const void* data, std::size_t size, void* descriptor, fi_addr_t to, const RemoteMemory& target,
                   Operation& operation) noexcept {
    return PostResult::from(fi_write(ep_.get(), data, size, descriptor, to, target.address, target.key, &operation));
  }
  /// As write(); the target also gets a completion that carries `immediate`.
  PostResult write_data(const void* data, std::size_t size, void* descriptor, fi_addr_t to, const RemoteMemory& target,
                        std::uint32_t immediate, Operation& operation) noexcept {
    return PostResult::from(
        fi_writedata(ep_.get(), data, size, descriptor, immediate, to, target.address, target.key, &operation));
  }
  PostResult read(void* data, std::size_t size, void* descriptor, fi_addr_t from, const RemoteMemory& source,
                  Operation& operation) noexcept {
    return PostResult::from(fi_read(ep_.get(), data, size, descriptor, from, source.address, source.key, &operation));
  }

  /// Asks the provider to give the operation up; its completion (an error) still comes. False where it cannot.
  bool cancel(Operation& operation) noexcept { return fi_cancel(&ep_.get()->fid, &operation) == 0; }

  /// True where EFA's software does one-sided writes by sending messages, because the NIC cannot.
  bool emulates_writes() const noexcept;

  /// The address that peers insert into their address vector.
  Result<std::vector<std::byte>> address() const;

  fid_ep* get() const noexcept { return ep_.get(); }

 private:
  Endpoint(const Domain& domain, Fid<fid_ep> ep) : domain_(&domain), ep_(std::move(ep)) {}

  const Domain* domain_;
  Fid<fid_ep> ep_;
};

}  // namespace weft::fabric
