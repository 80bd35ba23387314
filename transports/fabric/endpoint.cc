#include "transports/fabric/endpoint.h"

#include <rdma/fi_cm.h>

namespace weft::fabric {

Result<Endpoint> Endpoint::open(const Domain& domain, CompletionQueue& cq, AddressVector& av) {
  fid_ep* raw = nullptr;
  if (const int rc = fi_endpoint(domain.get(), domain.info().get(), &raw, nullptr); rc != 0) {
    return std::unexpected(domain.error("fi_endpoint", rc));
  }
  Endpoint endpoint(domain, Fid<fid_ep>(raw));
  if (const int rc = fi_ep_bind(raw, &av.get()->fid, 0); rc != 0) {
    return std::unexpected(domain.error("fi_ep_bind(av)", rc));
  }
  if (const int rc = fi_ep_bind(raw, &cq.get()->fid, FI_TRANSMIT | FI_RECV); rc != 0) {
    return std::unexpected(domain.error("fi_ep_bind(cq)", rc));
  }
  if (const int rc = fi_enable(raw); rc != 0) return std::unexpected(domain.error("fi_enable", rc));
  return endpoint;
}

bool Endpoint::emulates_writes() const noexcept {
  // FI_OPT_EFA_EMULATED_WRITE of rdma/fi_ext.h; declared here so that older headers serve as well.
  constexpr int kEmulatedWrite = -(0xefa << 16) + 2;
  bool emulated = false;
  std::size_t size = sizeof emulated;
  return fi_getopt(&ep_.get()->fid, FI_OPT_ENDPOINT, kEmulatedWrite, &emulated, &size) == 0 && emulated;
}

Result<std::vector<std::byte>> Endpoint::address() const {
  std::vector<std::byte> bytes(256);
  std::size_t size = bytes.size();
  if (const int rc = fi_getname(&ep_.get()->fid, bytes.data(), &size); rc != 0) {
    return std::unexpected(domain_->error("fi_getname", rc));
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace weft::fabric
