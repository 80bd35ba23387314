// The devices Weft makes of this machine's EFA NICs, found without libfabric: for what is said of them before any job
// runs, and to NCCL.
#pragma once

#include <vector>

#include "topology/instances.h"
#include "topology/rail_groups.h"
#include "topology/tree.h"
#include "topology/view.h"
#include "weft/params.h"
#include "weft/result.h"

namespace weft::plugin {

struct MachinePlan {
  std::vector<topology::Nic> nics;               ///< those that the parameters leave
  topology::RailGroups groups;                   ///< of `nics`
  const topology::Instance* instance = nullptr;  ///< null: not in the table

  /// `tree` and this must outlive it.
  topology::View view(const topology::Tree& tree) const { return {tree, nics, groups, instance}; }
};

/// As plan_devices() does with what libfabric offers. Fails for lists of NICs that cannot be followed.
Result<MachinePlan> plan_machine(const topology::Tree& tree, const Params& params);

/// How NICs are grouped with these parameters. `most_rails`: what the transport can drive.
topology::GroupOptions group_options(const Params& params, const topology::Instance* instance, int most_rails);

/// The indices of the NICs that WEFT_NICS and WEFT_NICS_EXCLUDE leave, and what is odd about the lists.
struct ChosenNics {
  std::vector<std::size_t> indices;
  std::vector<std::string> remarks;
};
Result<ChosenNics> choose_nics(const std::vector<topology::Nic>& nics, const Params& params);

}  // namespace weft::plugin
