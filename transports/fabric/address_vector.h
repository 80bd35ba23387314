// The table of peers' addresses that an endpoint sends to.
#pragma once

#include <rdma/fi_domain.h>

#include <cstddef>
#include <span>
#include <string>

#include "transports/fabric/domain.h"

namespace weft::fabric {

/// Not thread safe: callers hold the device's lock.
class AddressVector {
 public:
  static Result<AddressVector> open(const Domain& domain);

  Result<fi_addr_t> insert(std::span<const std::byte> address);
  void remove(fi_addr_t address) noexcept;
  /// An address in words: "10.0.0.7:4711" for sockets, else as the provider writes it.
  std::string text(std::span<const std::byte> address) const;

  fid_av* get() const noexcept { return av_.get(); }

 private:
  AddressVector(const Domain& domain, Fid<fid_av> av) : domain_(&domain), av_(std::move(av)) {}

  const Domain* domain_;
  Fid<fid_av> av_;
};

}  // namespace weft::fabric
