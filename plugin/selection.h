// The choice of a provider and of its interfaces: a pure function, so that every machine can be played on
// any.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "plugin/interface_filter.h"
#include "weft/result.h"

namespace weft::plugin {

/// What the choice depends on, of one thing libfabric offers.
struct Offer {
  std::string provider;    ///< "efa", "tcp;ofi_rxm", ...
  std::string domain;      ///< NIC or interface
  int address_family = 0;  ///< AF_INET, AF_INET6, or 0
  bool is_loopback = false;
  bool is_link_local = false;  ///< the address reaches this link only: 169.254.0.0/16, fe80::/10
  bool has_carrier = true;     ///< false: no cable, or a bridge with nothing on it
};

struct Selection {
  std::string provider;
  std::vector<std::size_t> offers;  ///< indices, one per interface, in the order of the offers
};

/// Chooses the best provider, or the one named `wanted_provider`, and its usable interfaces.
///
/// Providers, best first: efa; cxi, opx, psm3, psm2 and verbs;ofi_rxm; tcp;ofi_rxm; the native tcp of libfabric 1.18
/// and newer. All others (shm, udp, sockets, net, everything over ofi_rxd, ...) are taken only when named. A name may
/// leave out ofi_rxm, and then means the better one of those it fits: tcp is tcp;ofi_rxm where that is offered.
///
/// Interfaces: one offer each, IPv4 before IPv6 and routable before link-local. Without a list of names, only
/// the best kind that is there counts: ordinary ones; then those of containers and virtual machines and those
/// with a link-local address only; then loopback; then those without a carrier.
Result<Selection> select_offers(std::span<const Offer> offers, const std::string& wanted_provider,
                                const InterfaceFilter& filter);

}  // namespace weft::plugin
