// What all views of a machine share. A view is a function from these four to text; it reads nothing else.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "topology/instances.h"
#include "topology/rail_groups.h"
#include "topology/tree.h"

namespace weft::topology {

struct View {
  const Tree& tree;
  std::span<const Nic> nics;  ///< those that are used
  const RailGroups& groups;   ///< of `nics`
  const Instance* instance;   ///< null: not in the table

  const Node& at(int node) const { return tree.nodes[static_cast<std::size_t>(node)]; }

  /// The device that the NIC at `node` belongs to or that serves the GPU there; -1: none.
  int device_of(int node) const {
    if (at(node).kind == Kind::kGpu) return group_of_gpu(tree, nics, groups, node);
    return place_of(node).first;
  }
  /// The NIC's place among the rails of its device, -1 if it is not used. Rail 0 is the lead.
  int rail_of(int node) const { return place_of(node).second; }

  /// What a device carries, in Mb/s; 0 if a rail's speed is unknown.
  std::int64_t speed_mbps(const RailGroup& group) const { return sum_of_speeds(group.rails); }

  /// All NICs used, as above.
  std::int64_t speed_mbps() const {
    std::vector<std::size_t> all(nics.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    return sum_of_speeds(all);
  }

  /// Why the NIC at `node`, which no device has, is left out.
  std::string why_not_used(int node) const {
    if (at(node).is_withheld) return "not used: its file in /dev/infiniband is not here";
    if (at(node).is_efa()) return "not used";
    return at(node).driver.empty() ? "not used: not EFA" : "not used: driver " + at(node).driver;
  }

 private:
  std::pair<int, int> place_of(int node) const {
    if (at(node).kind != Kind::kNic) return {-1, -1};
    for (std::size_t device = 0; device < groups.groups.size(); ++device) {
      const auto& rails = groups.groups[device].rails;
      const auto rail = std::ranges::find_if(rails, [&](std::size_t nic) { return is_at(nics[nic], node); });
      if (rail != rails.end()) return {static_cast<int>(device), static_cast<int>(rail - rails.begin())};
    }
    return {-1, -1};
  }
  bool is_at(const Nic& nic, int node) const { return nic.address && tree.find(*nic.address) == node; }

  std::int64_t sum_of_speeds(std::span<const std::size_t> which) const {
    std::int64_t sum = 0;
    for (const std::size_t nic : which) {
      if (nics[nic].speed_mbps <= 0) return 0;
      sum += nics[nic].speed_mbps;
    }
    return sum;
  }
};

/// A part of the machine as people draw it: bridges that lead to one thing only are not worth a line of their own.
struct Branch {
  std::vector<int> chain;    ///< a NUMA node; or bridges, one below the other, of which the last one branches
  std::vector<int> devices;  ///< GPUs and NICs
  std::vector<Branch> below;
};

/// The branch that starts at `node`. Bridges without a device below are left out, those with one device give way to it.
inline Branch branch_at(const Tree& tree, int node) {
  const auto kind = [&](int index) { return tree.nodes[static_cast<std::size_t>(index)].kind; };
  const auto is_device = [&](int index) { return kind(index) == Kind::kGpu || kind(index) == Kind::kNic; };
  const auto is_bridge = [&](int index) { return kind(index) == Kind::kHostBridge || kind(index) == Kind::kBridge; };
  Branch branch{{node}, {}, {}};
  for (const int child : tree.children(node)) {
    if (is_device(child)) {
      branch.devices.push_back(child);
      continue;
    }
    Branch part = branch_at(tree, child);
    if (is_bridge(child) && part.below.empty() && part.devices.size() <= 1) {
      branch.devices.insert(branch.devices.end(), part.devices.begin(), part.devices.end());
    } else {
      branch.below.push_back(std::move(part));
    }
  }
  if (is_bridge(node) && branch.devices.empty() && branch.below.size() == 1) {
    const Branch only = std::move(branch.below.front());
    branch.chain.insert(branch.chain.end(), only.chain.begin(), only.chain.end());
    branch.devices = only.devices;
    branch.below = only.below;
  }
  return branch;
}

/// Names come from firmware and file systems: what is not printable ASCII becomes '?'.
inline std::string printable(std::string_view name) {
  std::string text(name);
  for (char& letter : text) {
    if (letter < ' ' || letter > '~') letter = '?';
  }
  return text;
}

/// "400 Gb/s".
inline std::string rate_text(std::int64_t mbps) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%g Gb/s", static_cast<double>(mbps) / 1000);
  return buffer;
}

/// "1 GPU", "8 GPUs".
inline std::string count_text(std::size_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

inline std::string machine_name(const View& view) {
  return view.tree.instance_type.empty() ? "machine of unknown type" : printable(view.tree.instance_type);
}

/// "EFAv2 (0xefa1), 32 NICs in use, 3200 Gb/s, 8 GPUs, 8 devices".
inline std::string machine_summary(const View& view) {
  std::string text;
  const auto efa = std::ranges::find_if(view.tree.nodes, &Node::is_efa);
  if (view.instance != nullptr && !view.instance->efa.empty()) {
    text = (view.instance->efa.starts_with("EFA") ? "" : "EFA ") + std::string(view.instance->efa) + ", ";
  } else if (efa != view.tree.nodes.end()) {
    char number[16];
    std::snprintf(number, sizeof number, "EFA 0x%04x, ", efa->device);
    text = number;
  }
  const std::size_t used = view.nics.size();
  const bool is_part = view.instance != nullptr && view.instance->nics > static_cast<int>(used);
  text += (is_part ? std::to_string(used) + " of " + count_text(static_cast<std::size_t>(view.instance->nics), "NIC")
                   : count_text(used, "NIC")) +
          " in use";
  if (const std::int64_t mbps = view.speed_mbps(); mbps > 0) text += ", " + rate_text(mbps);
  text += ", " + count_text(view.tree.all(Kind::kGpu).size(), "GPU");
  return text + ", " + count_text(view.groups.groups.size(), "device");
}

/// Domain and bus alone: "0000:44".
inline std::string bus_text(const PciAddress& address) {
  const std::string text = address.text();
  return text.substr(0, text.rfind(':'));
}

/// What a branch is called: "NUMA node 0", "host bridge 0000:44", "switch 0000:45:00.0".
inline std::string branch_name(const Tree& tree, const Branch& branch) {
  const Node& node = tree.nodes[static_cast<std::size_t>(branch.chain.back())];
  if (node.kind == Kind::kNuma) return "NUMA node " + std::to_string(node.numa);
  if (node.kind == Kind::kHostBridge) return "host bridge " + bus_text(node.address);
  return "switch " + node.address.text();
}

}  // namespace weft::topology
