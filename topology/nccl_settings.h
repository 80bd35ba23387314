// The NCCL settings of the instance table that fit the devices there are.
#pragma once

#include <algorithm>
#include <vector>

#include "topology/view.h"

namespace weft::topology {

/// In the table's order; empty for a machine that is not in it.
inline std::vector<NcclDefault> nccl_settings(const View& view) {
  std::vector<NcclDefault> settings;
  if (view.instance == nullptr || view.nics.empty()) return settings;
  // "One device for each GPU" is good advice only where that is what there is: else devices would lie idle.
  const std::size_t gpus = view.tree.all(Kind::kGpu).size();
  const bool one_per_gpu =
      view.groups.groups.size() == gpus &&
      std::ranges::all_of(view.groups.groups, [](const auto& group) { return group.gpus.size() == 1; });
  for (const NcclDefault& setting : view.instance->defaults) {
    if (setting.variable == "NCCL_NETDEVS_POLICY" && !one_per_gpu) continue;
    settings.push_back(setting);
  }
  return settings;
}

}  // namespace weft::topology
