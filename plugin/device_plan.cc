#include "plugin/device_plan.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <utility>

#include "plugin/machine_plan.h"
#include "topology/instances.h"
#include "topology/rail_groups.h"
#include "transports/connection/device.h"

namespace weft::plugin {
namespace {

topology::Nic describe(const fabric::Info& info) {
  const std::string function = std::filesystem::path(info.pci_path()).filename().string();
  return {.name = info.domain(), .address = topology::PciAddress::parse(function), .speed_mbps = info.speed_mbps()};
}

std::uint64_t guid_of(const topology::Tree& tree, const topology::Nic& nic) {
  const int node = nic.address ? tree.find(*nic.address) : -1;
  const std::string card = node >= 0     ? std::to_string(tree.nodes[static_cast<std::size_t>(node)].card())
                           : nic.address ? nic.address->text()
                                         : nic.name;
  // Where several hosts are one NVLink domain, NCCL puts their NICs into one list.
  return std::hash<std::string>{}(local_host_name() + '/' + card);
}

/// The lead's place among all EFA NICs of the machine, whichever of them are used here: the same on every machine of
/// its kind.
int rail_id_of(const topology::Tree& tree, const topology::Nic& lead) {
  if (!lead.address || tree.find(*lead.address) < 0) return -1;
  return static_cast<int>(std::ranges::count_if(
      tree.nodes, [&](const topology::Node& node) { return node.is_efa() && node.address < *lead.address; }));
}

}  // namespace

Result<DevicePlan> plan_devices(const std::vector<fabric::Info>& nics, const topology::Tree& tree, const Params& params,
                                int most_rails) {
  std::vector<topology::Nic> all;
  for (const auto& info : nics) all.push_back(describe(info));
  TRY(const ChosenNics chosen, choose_nics(all, params));
  std::vector<topology::Nic> used;
  for (const std::size_t index : chosen.indices) used.push_back(all[index]);

  const bool is_efa = !nics.empty() && nics.front().provider() == "efa";
  const topology::Instance* const instance = is_efa ? topology::find_instance(tree.instance_type) : nullptr;
  topology::GroupOptions options = group_options(params, instance, most_rails);
  if (!is_efa && options.rails == 0) options.rails = 1;
  topology::RailGroups groups = topology::group_rails(tree, used, options);

  DevicePlan plan;
  for (const auto& group : groups.groups) {
    PlannedDevice device;
    for (const std::size_t rail : group.rails) device.rails.push_back(&nics[chosen.indices[rail]]);
    device.guid = guid_of(tree, used[group.rails.front()]);
    if (is_efa) device.rail_id = rail_id_of(tree, used[group.rails.front()]);
    if (instance != nullptr) {
      device.latency_us = instance->latency_us;
      device.rail_mbps = instance->nic_mbps;
    }
    plan.devices.push_back(std::move(device));
  }
  plan.remarks = chosen.remarks;
  if (is_efa) {
    std::ranges::copy(tree.oddities, std::back_inserter(plan.remarks));
    std::ranges::move(groups.remarks, std::back_inserter(plan.remarks));
  }
  return plan;
}

}  // namespace weft::plugin
