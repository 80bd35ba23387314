#include "plugin/machine_plan.h"

#include <string>
#include <utility>

#include "plugin/interface_filter.h"
#include "topology/nic_filter.h"
#include "transports/connection/mr_cache.h"

namespace weft::plugin {

topology::GroupOptions group_options(const Params& params, const topology::Instance* instance, int most_rails) {
  topology::GroupOptions options{.rails = params.rails, .max_rails = most_rails};
  if (instance != nullptr) {
    options.rails_without_gpus = instance->rails;
    // Who leaves NICs out knows that they are missing.
    const bool all = params.nics.empty() && params.nics_exclude.empty() && params.interfaces.empty();
    options.expected_rails = all && most_rails > 1 ? instance->rails : 0;
  }
  return options;
}

Result<ChosenNics> choose_nics(const std::vector<topology::Nic>& nics, const Params& params) {
  TRY(const auto only, topology::NicList::parse("WEFT_NICS", params.nics));
  TRY(const auto except, topology::NicList::parse("WEFT_NICS_EXCLUDE", params.nics_exclude));
  ChosenNics chosen;
  TRY(chosen.indices, topology::choose_nics(nics, only, except));
  for (const auto& entry : except.unmatched(nics)) {
    chosen.remarks.push_back("WEFT_NICS_EXCLUDE names " + entry + ", which is no NIC here: nothing is left out for it");
  }
  return chosen;
}

Result<MachinePlan> plan_machine(const topology::Tree& tree, const Params& params) {
  TRY(const InterfaceFilter filter, InterfaceFilter::parse(params.interfaces));
  std::vector<topology::Nic> admitted;
  for (auto& nic : topology::efa_nics(tree)) {
    // By the name that libfabric gives it.
    if (filter.admits(nic.name + "-rdm")) admitted.push_back(std::move(nic));
  }
  MachinePlan plan;
  // Without EFA another provider's NICs are chosen from, which are not looked for here.
  TRY(auto chosen, admitted.empty() ? Result<ChosenNics>() : choose_nics(admitted, params));
  for (const std::size_t index : chosen.indices) plan.nics.push_back(admitted[index]);
  plan.instance = topology::find_instance(tree.instance_type);
  // The transport is chosen by what the NICs can do; the table knows it before they are asked.
  const bool one_rail = params.protocol == "sendrecv" ||
                        (params.protocol.empty() && plan.instance != nullptr && plan.instance->protocol == "sendrecv");
  const int most_rails = one_rail ? 1 : static_cast<int>(kMaxRails);
  plan.groups = topology::group_rails(tree, plan.nics, group_options(params, plan.instance, most_rails));
  plan.groups.remarks.insert(plan.groups.remarks.begin(), chosen.remarks.begin(), chosen.remarks.end());
  return plan;
}

}  // namespace weft::plugin
