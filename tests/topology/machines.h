// Machines to play on: built by hand, or at random.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "topology/rail_groups.h"
#include "topology/tree.h"

namespace weft::topology {

/// Builds a tree node by node; every function returns the index of what it made. take() puts the nodes in order.
class Builder {
 public:
  int numa(int number);
  int host_bridge(int above, const std::string& bus);
  int bridge(int above, const std::string& address);
  int gpu(int above, const std::string& address);
  /// An EFA of `gbps`.
  int efa(int above, const std::string& address, int gbps = 100, std::uint64_t guid = 0, std::uint16_t device = 0xefa1);
  /// One that is not EFA.
  int nic(int above, const std::string& address, std::uint16_t vendor, std::uint16_t device);

  Tree take();

 private:
  int add(Kind kind, int above, const std::string& address);
  Tree tree_;
};

/// A P5-like machine: `switches` switches over two NUMA nodes, each with `gpus` GPUs and `nics` EFA NICs.
Tree machine(int switches, int gpus, int nics);

/// Any machine: up to two NUMA nodes, host bridges, nested switches, GPUs, cards of one or two functions.
Tree random_machine(std::mt19937_64& random);

/// The same machine with its nodes in another order.
Tree shuffled(const Tree& tree, std::mt19937_64& random);

/// The devices by their NICs' addresses, leads first: what must not depend on any order.
std::vector<std::vector<std::string>> addresses(std::span<const Nic> nics, const RailGroups& groups);

}  // namespace weft::topology
