#include "plugin/discovery.h"

#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "plugin/efa_hardware.h"
#include "plugin/interface_filter.h"
#include "weft/log.h"

namespace weft::plugin {
namespace {

namespace fs = std::filesystem;

bool is_link_local(const fabric::Info& info) {
  const void* address = info.get()->src_addr;
  if (address == nullptr) return false;
  switch (info.address_family()) {
    case AF_INET: {
      const auto host = ntohl(static_cast<const sockaddr_in*>(address)->sin_addr.s_addr);
      return host >> 16 == 0xa9fe;
    }
    case AF_INET6: return IN6_IS_ADDR_LINKLOCAL(&static_cast<const sockaddr_in6*>(address)->sin6_addr);
    default: return false;
  }
}

/// The interface's flags (IFF_*), 0 where the domain is no network interface.
unsigned interface_flags(const fs::path& interface) {
  std::ifstream file(interface / "flags");
  unsigned flags = 0;
  file >> std::hex >> flags;
  return flags;
}

/// Only a clear 0 counts: interfaces that cannot tell (loopback, some virtual ones) have a carrier.
bool has_carrier(const fs::path& interface) {
  std::ifstream file(interface / "carrier");
  int carrier = 1;
  return !(file >> carrier) || carrier != 0;
}

/// Why the machine's EFA adapters are not used, if there are any and it is news to the user.
std::optional<std::string> unusable_efa(const fabric::Library& library, const Params& params,
                                        std::span<const Offer> offers, const fs::path& root) {
  const bool offered = std::ranges::any_of(offers, [](const Offer& offer) { return offer.provider == "efa"; });
  if (offered || !params.provider.empty()) return {};
  const auto hardware = find_efa_hardware(root);
  if (!hardware) return {};
  return explain_unusable(*hardware, library.path());
}

}  // namespace

Offer describe(const fabric::Info& info, const fs::path& root) {
  const fs::path interface = root / "sys/class/net" / info.domain();
  return {.provider = info.provider(),
          .domain = info.domain(),
          .address_family = info.address_family(),
          .is_loopback = (interface_flags(interface) & IFF_LOOPBACK) != 0,
          .is_link_local = is_link_local(info),
          .has_carrier = has_carrier(interface)};
}

Result<std::vector<fabric::Info>> discover_nics(const fabric::Library& library, const Params& params,
                                                bool want_gpu_memory, const fs::path& root, std::uint64_t caps) {
  TRY(const InterfaceFilter filter, InterfaceFilter::parse(params.interfaces));
  std::vector<fabric::Info> infos;
  // First come first served: of equal offers for one NIC the selection keeps the first.
  if (want_gpu_memory) {
    TRY(infos, library.discover({.caps = caps | FI_HMEM, .provider = ""}));
  }
  TRY(auto plain, library.discover({.caps = caps, .provider = ""}));
  std::ranges::move(plain, std::back_inserter(infos));
  // One NIC is offered by both of EFA's fabrics: the direct one, without software between, comes first.
  std::ranges::stable_partition(infos, [](const fabric::Info& info) { return info.fabric() == "efa-direct"; });
  std::vector<Offer> offers;
  offers.reserve(infos.size());
  for (const auto& info : infos) offers.push_back(describe(info, root));
  const auto selection = select_offers(offers, params.provider, filter);
  if (const auto reason = unusable_efa(library, params, offers, root)) {
    if (params.require) return fail(Code::kMissing, *reason + " (WEFT_REQUIRE is set, so there is no fall-back)");
    if (!selection) return fail(Code::kMissing, *reason + ". Without EFA: " + selection.error().what);
    WEFT_WARN("%s; going on with %s, much slower (WEFT_REQUIRE=1 makes this an error)", reason->c_str(),
              selection->provider.c_str());
  }
  if (!selection) return std::unexpected(selection.error());
  std::vector<fabric::Info> nics;
  nics.reserve(selection->offers.size());
  for (const std::size_t index : selection->offers) nics.push_back(std::move(infos[index]));
  return nics;
}

bool offers_efa_rdma(const fabric::Library& library, const Params& params) {
  if (!params.provider.empty() && params.provider != "efa") return false;
  const auto filter = InterfaceFilter::parse(params.interfaces);
  const auto offers = library.discover({.caps = FI_MSG | FI_RMA, .provider = "efa"});
  return filter && offers &&
         std::ranges::any_of(*offers, [&](const fabric::Info& info) { return filter->admits(info.domain()); });
}

}  // namespace weft::plugin
