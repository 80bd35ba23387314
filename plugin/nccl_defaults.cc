#include "plugin/nccl_defaults.h"

#include "plugin/machine_plan.h"
#include "topology/nccl_settings.h"
#include "topology/nccl_xml.h"

namespace weft::plugin {

Result<NcclDefaults> nccl_defaults(const topology::Tree& tree, const Params& params) {
  NcclDefaults defaults;
  if (topology::efa_nics(tree).empty() || (!params.provider.empty() && params.provider != "efa")) return defaults;
  TRY(const MachinePlan plan, plan_machine(tree, params));
  const topology::View view = plan.view(tree);
  for (const auto& [variable, value, reason, source] : topology::nccl_settings(view)) {
    defaults.values[std::string(variable)] = {std::string(value), std::string(reason)};
  }
  if (topology::nccl_needs_xml(view)) defaults.topology_xml = topology::nccl_xml(view, topology::own_processor());
  return defaults;
}

}  // namespace weft::plugin
