// One end of a conversation over the fake fabric, made of Weft's own fabric objects.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "transports/fabric/address_vector.h"
#include "transports/fabric/completion_queue.h"
#include "transports/fabric/domain.h"
#include "transports/fabric/endpoint.h"
#include "transports/fabric/info.h"
#include "transports/fabric/library.h"
#include "weft/result.h"

namespace weft::test {

struct FabricNode {
  fabric::Info info;
  // They keep references to those before them, so each is made in its last place.
  std::optional<fabric::Domain> domain;
  std::optional<fabric::AddressVector> addresses;
  std::optional<fabric::CompletionQueue> completions;
  std::optional<fabric::Endpoint> endpoint;

  explicit FabricNode(fabric::Info offered) : info(std::move(offered)) {}

  /// Opens everything on the `nic`-th NIC. `library` must outlive the node. `cq_entries` as in CompletionQueue.
  static Result<std::unique_ptr<FabricNode>> open(const fabric::Library& library, std::size_t nic = 0,
                                                  std::size_t cq_entries = 0) {
    TRY(auto infos, library.discover({.caps = FI_MSG | FI_TAGGED, .provider = ""}));
    if (nic >= infos.size()) return fail(Code::kMissing, "no such NIC");
    auto node = std::make_unique<FabricNode>(std::move(infos[nic]));
    TRY(node->domain, fabric::Domain::open(library, node->info));
    TRY(node->addresses, fabric::AddressVector::open(*node->domain));
    TRY(node->completions, fabric::CompletionQueue::open(*node->domain, cq_entries));
    TRY(node->endpoint, fabric::Endpoint::open(*node->domain, *node->completions, *node->addresses));
    return node;
  }

  /// Makes `peer` known here.
  Result<fi_addr_t> know(const FabricNode& peer) {
    TRY(const auto address, peer.endpoint->address());
    return addresses->insert(address);
  }

  /// Reads one completion; nothing if there is none or an error comes first.
  std::optional<fabric::Completion> read() {
    fabric::Completion completion{};
    return completions->read({&completion, 1}) == 1 ? std::optional(completion) : std::nullopt;
  }
  /// Reads the error that comes next; nothing if none does.
  std::optional<fabric::CompletionError> read_error() {
    fabric::Completion completion{};
    fabric::CompletionError error;
    if (completions->read({&completion, 1}) != -FI_EAVAIL || !completions->read_error(error)) return std::nullopt;
    return error;
  }
};

}  // namespace weft::test
