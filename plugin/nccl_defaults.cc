#include "plugin/nccl_defaults.h"

#include <vector>

#include "topology/instances.h"
#include "topology/nccl_xml.h"
#include "topology/nic_filter.h"
#include "topology/rail_groups.h"
#include "topology/view.h"

namespace weft::plugin {

Result<NcclDefaults> nccl_defaults(const topology::Tree& tree, const Params& params) {
  NcclDefaults defaults;
  const auto all = topology::efa_nics(tree);
  if (all.empty() || (!params.provider.empty() && params.provider != "efa")) return defaults;
  TRY(const auto only, topology::NicList::parse("WEFT_NICS", params.nics));
  TRY(const auto except, topology::NicList::parse("WEFT_NICS_EXCLUDE", params.nics_exclude));
  TRY(const auto chosen, topology::choose_nics(all, only, except));
  std::vector<topology::Nic> nics;
  for (const std::size_t index : chosen) nics.push_back(all[index]);

  const topology::Instance* const instance = topology::find_instance(tree.instance_type);
  if (instance != nullptr) {
    for (const auto& [variable, value, reason, source] : instance->defaults) {
      defaults.values[std::string(variable)] = {std::string(value), std::string(reason)};
    }
  }
  topology::GroupOptions options{.rails = params.rails};
  if (params.protocol == "sendrecv") options.max_rails = 1;
  if (instance != nullptr) options.rails_without_gpus = instance->rails;
  const auto groups = topology::group_rails(tree, nics, options);
  const topology::View view{tree, nics, groups, instance};
  if (topology::nccl_needs_xml(view)) defaults.topology_xml = topology::nccl_xml(view, topology::own_processor());
  return defaults;
}

}  // namespace weft::plugin
