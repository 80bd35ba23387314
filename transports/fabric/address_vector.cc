#include "transports/fabric/address_vector.h"

namespace weft::fabric {

Result<AddressVector> AddressVector::open(const Domain& domain) {
  fi_av_attr attributes{};
  attributes.type = FI_AV_TABLE;
  fid_av* raw = nullptr;
  if (const int rc = fi_av_open(domain.get(), &attributes, &raw, nullptr); rc != 0) {
    return std::unexpected(domain.error("fi_av_open", rc));
  }
  return AddressVector(domain, Fid<fid_av>(raw));
}

Result<fi_addr_t> AddressVector::insert(std::span<const std::byte> address) {
  fi_addr_t inserted = FI_ADDR_UNSPEC;
  const int rc = fi_av_insert(av_.get(), address.data(), 1, &inserted, 0, nullptr);
  if (rc != 1) return std::unexpected(domain_->error("fi_av_insert", rc < 0 ? rc : -FI_EINVAL));
  return inserted;
}

void AddressVector::remove(fi_addr_t address) noexcept {
  if (const int rc = fi_av_remove(av_.get(), &address, 1, 0); rc != 0) {
    WEFT_WARN("fi_av_remove failed on %s: error %d; the entry is leaked", domain_->info().domain().c_str(), -rc);
  }
}

std::string AddressVector::text(std::span<const std::byte> address) const {
  char buffer[256] = {};
  std::size_t size = sizeof buffer;
  const char* raw = fi_av_straddr(av_.get(), address.data(), buffer, &size);
  std::string text = raw != nullptr ? raw : "address unknown";
  // "fi_sockaddr_in://10.0.0.7:4711" and the like: the scheme says nothing to a reader.
  if (const auto scheme = text.find("://"); scheme != std::string::npos) text.erase(0, scheme + 3);
  return text;
}

}  // namespace weft::fabric
