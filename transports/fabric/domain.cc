#include "transports/fabric/domain.h"

namespace weft::fabric {
namespace {

Error call_error(const Library& library, const Info& info, const char* call, int rc) {
  const int number = rc < 0 ? -rc : rc;
  return Error{Code::kSystem, number,
               std::string(call) + " failed on " + info.domain() + " (" + info.provider() +
                   "): " + library.strerror(number) + " (" + std::to_string(number) + ")"};
}

}  // namespace

Error Domain::error(const char* call, int rc) const { return call_error(*library_, *info_, call, rc); }

Result<Domain> Domain::open(const Library& library, const Info& info) {
  fid_fabric* raw_fabric = nullptr;
  if (const int rc = library.functions().fabric(info.get()->fabric_attr, &raw_fabric, nullptr); rc != 0) {
    return std::unexpected(call_error(library, info, "fi_fabric", rc));
  }
  Fid<fid_fabric> fabric(raw_fabric);
  fid_domain* raw_domain = nullptr;
  if (const int rc = fi_domain(fabric.get(), info.get(), &raw_domain, nullptr); rc != 0) {
    return std::unexpected(call_error(library, info, "fi_domain", rc));
  }
  return Domain(library, info, std::move(fabric), Fid<fid_domain>(raw_domain));
}

}  // namespace weft::fabric
