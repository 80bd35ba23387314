#include "plugin/selection.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <tuple>

namespace weft::plugin {
namespace {

/// Best first. verbs stands behind those that know their own hardware better. Of the two ways to use tcp, ofi_rxm is
/// the slower one for small messages and the only safe one: the native one stops reading a peer's socket when a few
/// messages wait there for a receive, and with them everything behind, other communicators' messages included (seen
/// with 1.17; from 1.18 on FI_TCP_MAX_SAVED, 64, is the limit).
constexpr std::array<std::string_view, 8> kRanking = {
    "efa", "cxi", "opx", "psm3", "psm2", "verbs;ofi_rxm", "tcp;ofi_rxm", "tcp",
};

/// Bridges and virtual links of container and virtual machine managers: their addresses are the same on every
/// host, or reach nothing but this one. (EKS's pod-id-link0 has swallowed whole jobs.)
constexpr std::array<std::string_view, 19> kVirtualPrefixes = {
    "docker", "br-", "virbr", "veth", "vnet",         "ifb",    "dummy",       "cni",       "flannel", "cali",
    "cilium", "lxc", "lxd",   "kube", "nodelocaldns", "podman", "pod-id-link", "tailscale", "vmnet",
};

/// How useful an interface is, best first.
enum class Usefulness { kOrdinary, kVirtual, kLoopback, kNoCarrier };

Usefulness usefulness(const Offer& offer) {
  if (offer.is_loopback) return Usefulness::kLoopback;
  if (!offer.has_carrier) return Usefulness::kNoCarrier;
  const bool is_virtual =
      std::ranges::any_of(kVirtualPrefixes, [&](auto prefix) { return offer.domain.starts_with(prefix); });
  return is_virtual || offer.is_link_local ? Usefulness::kVirtual : Usefulness::kOrdinary;
}

/// Smaller is better.
std::tuple<bool, bool> address_rank(const Offer& offer) {
  return {offer.is_link_local, offer.address_family == AF_INET6};
}

/// "tcp" of "tcp;ofi_rxm". Only ofi_rxm may be left out of a name: it adds reliable datagrams and nothing
/// else.
std::string_view short_name(std::string_view provider) {
  const auto layer = provider.find(';');
  return layer != std::string_view::npos && provider.substr(layer) == ";ofi_rxm" ? provider.substr(0, layer) : provider;
}

template <class Name>
std::string list_of(std::span<const Offer> offers, Name name) {
  std::vector<std::string> seen;
  for (const Offer& offer : offers) {
    std::string each = name(offer);
    if (std::ranges::find(seen, each) == seen.end()) seen.push_back(std::move(each));
  }
  std::string text;
  for (const auto& each : seen) text += (text.empty() ? "" : ", ") + each;
  return text.empty() ? "nothing" : text;
}

std::string providers_of(std::span<const Offer> offers) {
  return list_of(offers, [](const Offer& offer) { return offer.provider; });
}

std::string interfaces_of(std::span<const Offer> offers) {
  return list_of(offers, [](const Offer& offer) { return offer.domain; });
}

bool is_offered(std::span<const Offer> offers, std::string_view provider) {
  return std::ranges::any_of(offers, [provider](const Offer& offer) { return offer.provider == provider; });
}

Result<std::string> choose_provider(std::span<const Offer> offers, const std::string& wanted) {
  if (wanted.empty()) {
    for (const std::string_view provider : kRanking) {
      if (is_offered(offers, provider)) return std::string(provider);
    }
    return fail(Code::kMissing,
                "libfabric offers no provider for reliable datagrams with tagged messages that Weft would "
                "take by itself "
                "(it offers: " +
                    providers_of(offers) +
                    "); install one (tcp comes with libfabric), or name one with "
                    "WEFT_PROVIDER");
  }
  // Where the name fits several, the ranking decides: tcp is tcp;ofi_rxm, with or without the native one beside it.
  for (const std::string_view provider : kRanking) {
    if ((provider == wanted || short_name(provider) == wanted) && is_offered(offers, provider)) {
      return std::string(provider);
    }
  }
  if (is_offered(offers, wanted)) return wanted;
  for (const Offer& offer : offers) {
    if (short_name(offer.provider) == wanted) return offer.provider;
  }
  return fail(Code::kMissing, "WEFT_PROVIDER is \"" + wanted +
                                  "\", but libfabric offers no such provider for reliable "
                                  "datagrams with tagged messages (it offers: " +
                                  providers_of(offers) + "); correct or unset WEFT_PROVIDER");
}

}  // namespace

Result<Selection> select_offers(std::span<const Offer> offers, const std::string& wanted_provider,
                                const InterfaceFilter& filter) {
  // The filter comes first: who names eth0 on a machine with EFA wants tcp.
  std::vector<Offer> admitted;
  std::ranges::copy_if(offers, std::back_inserter(admitted),
                       [&](const Offer& offer) { return filter.admits(offer.domain); });
  if (admitted.empty() && !offers.empty()) {
    return fail(Code::kMissing, "WEFT_INTERFACES is \"" + filter.text() + "\", which leaves no interface (there are: " +
                                    interfaces_of(offers) + "); correct or unset WEFT_INTERFACES");
  }
  TRY(std::string provider, choose_provider(admitted, wanted_provider));
  Selection selection{std::move(provider), {}};
  auto best = Usefulness::kNoCarrier;
  for (std::size_t i = 0; i < offers.size(); ++i) {
    const Offer& offer = offers[i];
    if (offer.provider != selection.provider || !filter.admits(offer.domain)) continue;
    best = std::min(best, usefulness(offer));
    const auto same =
        std::ranges::find_if(selection.offers, [&](std::size_t other) { return offers[other].domain == offer.domain; });
    if (same == selection.offers.end()) {
      selection.offers.push_back(i);
    } else if (address_rank(offer) < address_rank(offers[*same])) {
      *same = i;
    }
  }
  std::erase_if(selection.offers,
                [&](std::size_t i) { return !filter.names(offers[i].domain) && usefulness(offers[i]) > best; });
  return selection;
}

}  // namespace weft::plugin
