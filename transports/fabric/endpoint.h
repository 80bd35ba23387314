// The endpoint: where operations are posted. The hot path's last stop before the provider.
#pragma once

#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
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

  /// Asks the provider to give the operation up; its completion (an error) still comes. False where it cannot.
  bool cancel(Operation& operation) noexcept { return fi_cancel(&ep_.get()->fid, &operation) == 0; }

  /// The address that peers insert into their address vector.
  Result<std::vector<std::byte>> address() const;

  fid_ep* get() const noexcept { return ep_.get(); }

 private:
  Endpoint(const Domain& domain, Fid<fid_ep> ep) : domain_(&domain), ep_(std::move(ep)) {}

  const Domain* domain_;
  Fid<fid_ep> ep_;
};

}  // namespace weft::fabric
