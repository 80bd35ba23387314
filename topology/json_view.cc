#include "topology/json_view.h"

#include <nlohmann/json.hpp>

#include "topology/nccl_settings.h"

namespace weft::topology {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json known(T value, bool is_known) {
  return is_known ? Json(std::move(value)) : Json(nullptr);
}

std::string hex(std::uint64_t value, int digits) {
  char buffer[24];
  std::snprintf(buffer, sizeof buffer, "0x%0*llx", digits, static_cast<unsigned long long>(value));
  return buffer;
}

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::kMachine: return "machine";
    case Kind::kNuma: return "numa";
    case Kind::kHostBridge: return "host_bridge";
    case Kind::kBridge: return "bridge";
    case Kind::kGpu: return "gpu";
    case Kind::kNic: return "nic";
  }
  return "";
}

Json json_of(const Instance* instance) {
  if (instance == nullptr) return nullptr;
  return {{"type", instance->type},         {"efa", instance->efa},
          {"nics", instance->nics},         {"nic_mbps", instance->nic_mbps},
          {"gpus", instance->gpus},         {"rails", instance->rails},
          {"protocol", instance->protocol}, {"latency_us", instance->latency_us},
          {"source", instance->source}};
}

Json json_of(const View& view, int index) {
  const Node& node = view.at(index);
  Json json = {{"kind", kind_name(node.kind)}};
  const bool is_device = node.kind == Kind::kGpu || node.kind == Kind::kNic;
  if (node.kind == Kind::kNuma) json["numa"] = node.numa;
  if (node.kind == Kind::kHostBridge) json["bus"] = bus_text(node.address);
  if (is_device || node.kind == Kind::kBridge) {
    json["address"] = node.address.text();
    json["vendor"] = hex(node.vendor, 4);
    json["device_id"] = hex(node.device, 4);
    json["class"] = hex(node.pci_class, 6);
    json["link_gbps"] = known(node.link_gbps, node.link_gbps > 0);
  }
  if (is_device) json["name"] = node.name;
  if (node.kind == Kind::kNic) {
    json["driver"] = known(node.driver, !node.driver.empty());
    json["speed_mbps"] = known(node.speed_mbps, node.speed_mbps > 0);
    json["node_guid"] = known(hex(node.node_guid, 16), node.node_guid != 0);
    json["efa"] = node.is_efa();
    json["used"] = view.device_of(index) >= 0;
  }
  Json children = Json::array();
  for (const int child : view.tree.children(index)) children.push_back(json_of(view, child));
  json["children"] = std::move(children);
  return json;
}

Json devices_of(const View& view) {
  Json devices = Json::array();
  for (const RailGroup& group : view.groups.groups) {
    Json nics = Json::array();
    for (const std::size_t nic : group.rails) nics.push_back(view.nics[nic].name);
    Json gpus = Json::array();
    for (const int gpu : group.gpus) gpus.push_back(view.at(gpu).address.text());
    const std::int64_t mbps = view.speed_mbps(group);
    devices.push_back({{"device", devices.size()},
                       {"nics", std::move(nics)},
                       {"speed_mbps", known(mbps, mbps > 0)},
                       {"gpus", std::move(gpus)}});
  }
  return devices;
}

Json nics_of(const View& view) {
  Json nics = Json::array();
  for (const Nic& nic : view.nics) {
    nics.push_back({{"name", nic.name},
                    {"address", nic.address ? Json(nic.address->text()) : Json(nullptr)},
                    {"speed_mbps", known(nic.speed_mbps, nic.speed_mbps > 0)}});
  }
  for (std::size_t device = 0; device < view.groups.groups.size(); ++device) {
    const auto& rails = view.groups.groups[device].rails;
    for (std::size_t rail = 0; rail < rails.size(); ++rail) {
      nics[rails[rail]]["device"] = device;
      nics[rails[rail]]["rail"] = rail;
    }
  }
  return nics;
}

Json gpus_of(const View& view) {
  Json gpus = Json::array();
  for (const int gpu : view.tree.all(Kind::kGpu)) {
    const int numa = view.tree.numa_of(gpu);
    const int device = view.device_of(gpu);
    gpus.push_back({{"name", view.at(gpu).name},
                    {"address", view.at(gpu).address.text()},
                    {"numa", known(numa, numa >= 0)},
                    {"device", known(device, device >= 0)}});
  }
  return gpus;
}

Json settings_of(const View& view) {
  Json settings = Json::array();
  for (const NcclDefault& each : nccl_settings(view)) {
    settings.push_back(
        {{"variable", each.variable}, {"value", each.value}, {"reason", each.reason}, {"source", each.source}});
  }
  return settings;
}

}  // namespace

std::string json_view(const View& view) {
  const std::int64_t mbps = view.speed_mbps();
  const Json json = {{"format", 1},
                     {"instance_type", known(view.tree.instance_type, !view.tree.instance_type.empty())},
                     {"instance", json_of(view.instance)},
                     {"speed_mbps", known(mbps, mbps > 0)},
                     {"devices", devices_of(view)},
                     {"nics", nics_of(view)},
                     {"gpus", gpus_of(view)},
                     {"tree", json_of(view, 0)},
                     {"nccl_settings", settings_of(view)},
                     {"remarks", view.groups.remarks},
                     {"oddities", view.tree.oddities}};
  // Names come from firmware and file systems, and need not be UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace weft::topology
