// A NIC opened through one provider: the fabric and the domain, which always go together here.
#pragma once

#include <rdma/fi_domain.h>

#include <string>

#include "transports/fabric/fid.h"
#include "transports/fabric/info.h"
#include "transports/fabric/library.h"
#include "weft/result.h"

namespace weft::fabric {

class Domain {
 public:
  /// `library` and `info` must outlive the domain. May block while the provider sets up the NIC.
  static Result<Domain> open(const Library& library, const Info& info);

  fid_domain* get() const noexcept { return domain_.get(); }
  const Library& library() const noexcept { return *library_; }
  const Info& info() const noexcept { return *info_; }
  /// True where buffers of local operations must be registered and passed with their descriptor.
  bool needs_local_registration() const noexcept { return (info_->get()->domain_attr->mr_mode & FI_MR_LOCAL) != 0; }

  /// True where peers name remote memory by its virtual address, false where by its offset in the registration.
  bool uses_virtual_addresses() const noexcept { return (info_->get()->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0; }

  /// "fi_xxx failed on eth0 (tcp;ofi_rxm): Connection refused (111)": the one wording of a failed set-up call.
  Error error(const char* call, int rc) const;

 private:
  Domain(const Library& library, const Info& info, Fid<fid_fabric> fabric, Fid<fid_domain> domain)
      : library_(&library), info_(&info), fabric_(std::move(fabric)), domain_(std::move(domain)) {}

  const Library* library_;
  const Info* info_;
  Fid<fid_fabric> fabric_;
  Fid<fid_domain> domain_;
};

}  // namespace weft::fabric
