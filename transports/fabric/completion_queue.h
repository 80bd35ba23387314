// The queue where finished operations are read, in batches.
#pragma once

#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

#include <span>

#include "transports/fabric/domain.h"
#include "transports/fabric/operation.h"

namespace weft::fabric {

/// Not thread safe: callers hold the device's lock.
class CompletionQueue {
 public:
  /// `entries`: depth to ask for, 0 for the provider's default.
  static Result<CompletionQueue> open(const Domain& domain, std::size_t entries);

  /// Reads up to out.size() completions and makes the provider progress. Returns how many were read, 0 when there are
  /// none, or -FI_EAVAIL when the next entry is an error to be fetched with read_error. Other values are the
  /// provider's errors.
  ssize_t read(std::span<Completion> out) noexcept {
    const ssize_t count = fi_cq_read(cq_.get(), out.data(), out.size());
    return count == -FI_EAGAIN ? 0 : count;
  }

  /// Fetches the error entry that read() announced. False if there is none after all.
  bool read_error(CompletionError& out) noexcept;

  fid_cq* get() const noexcept { return cq_.get(); }

 private:
  explicit CompletionQueue(Fid<fid_cq> cq) : cq_(std::move(cq)) {}

  Fid<fid_cq> cq_;
};

}  // namespace weft::fabric
