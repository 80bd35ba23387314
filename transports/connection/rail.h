// A rail: one NIC opened for use, with its domain, address vector, completion queue and endpoint.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "transports/fabric/address_vector.h"
#include "transports/fabric/completion_queue.h"
#include "transports/fabric/domain.h"
#include "transports/fabric/endpoint.h"
#include "transports/fabric/info.h"

namespace weft {

/// Not thread safe: callers hold the device's lock.
class Rail {
 public:
  /// Opens the NIC that `info` describes. `library` must outlive the rail. `cq_entries`: see CompletionQueue.
  static Result<std::unique_ptr<Rail>> open(const fabric::Library& library, const fabric::Info& info,
                                            std::size_t cq_entries);

  const fabric::Info& info() const noexcept { return info_; }
  const std::string& name() const noexcept { return name_; }
  const fabric::Library& library() const noexcept { return domain_->library(); }
  fabric::Domain& domain() noexcept { return *domain_; }
  fabric::AddressVector& addresses() noexcept { return *addresses_; }
  fabric::CompletionQueue& completions() noexcept { return *completions_; }
  fabric::Endpoint& endpoint() noexcept { return *endpoint_; }

  /// Closes the endpoint, after which the provider holds no operation and no buffer any more. Nothing may be posted
  /// or read afterwards.
  void shut() noexcept { endpoint_.reset(); }

 private:
  explicit Rail(fabric::Info info) : info_(std::move(info)), name_(info_.domain()) {}

  // Made top down, destroyed bottom up: the endpoint goes before the queues it is bound to.
  fabric::Info info_;
  std::string name_;
  std::optional<fabric::Domain> domain_;
  std::optional<fabric::AddressVector> addresses_;
  std::optional<fabric::CompletionQueue> completions_;
  std::optional<fabric::Endpoint> endpoint_;
};

}  // namespace weft
