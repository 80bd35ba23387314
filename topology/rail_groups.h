// Which NICs make one device: a pure function from a machine's tree, so that every machine can be played on any.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "topology/tree.h"

namespace weft::topology {

/// A NIC that may be used.
struct Nic {
  std::string name;
  std::optional<PciAddress> address;  ///< none: not a PCI device, or its place is hidden
  int speed_mbps = 0;                 ///< 0: unknown
};

struct GroupOptions {
  int rails = 0;               ///< NICs of one device; 0: as the machine's tree says
  int rails_without_gpus = 1;  ///< what `rails` is where no GPU can be seen: the instance table knows
  int expected_rails = 0;      ///< of a GPU's device, where the instance table knows: fewer are remarked on
  int max_rails = 8;           ///< what a transport can drive
};

/// One device: the NICs that NCCL will see as one.
struct RailGroup {
  std::vector<std::size_t> rails;  ///< indices into the NICs given, the lead first; rail i faces rail i of the peer
  std::vector<int> gpus;           ///< nodes of the GPUs it is meant for, in PCI order; empty where none is near
};

struct RailGroups {
  std::vector<RailGroup> groups;     ///< in the order of the PCI addresses of their first NICs
  std::vector<std::string> remarks;  ///< sentences for the user: what was odd, and what was done about it
};

/// Every NIC goes to the nearest node above it that also has a GPU below. The NICs that meet there are split evenly,
/// the functions of a card side by side, among the GPUs that have no nearer NICs; a device never has more than
/// `options.max_rails`. With `options.rails`, each such set is cut into devices of that many instead; sets that have
/// fewer are put together for it.
///
/// The result does not depend on the order of `nics` or of the tree's children: two machines of one kind get the same
/// devices in the same order. Within a device, rails are ordered by function of the card, then by PCI address, so that
/// on P5, where two functions share a card and their addresses come in either order, first faces first and second
/// faces second. NICs without a place in the tree form a set of their own, by name.
RailGroups group_rails(const Tree& tree, std::span<const Nic> nics, const GroupOptions& options);

/// The NICs of `tree` that Weft would use: the EFA ones whose files this process has.
std::vector<Nic> efa_nics(const Tree& tree);

/// The index of the device that serves the GPU `gpu` (a node of `tree`): its own, else the nearest, else 0. -1 without
/// any device.
int group_of_gpu(const Tree& tree, std::span<const Nic> nics, const RailGroups& groups, int gpu);

}  // namespace weft::topology
