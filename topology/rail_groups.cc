#include "topology/rail_groups.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace weft::topology {
namespace {

/// What the functions below share.
struct Work {
  const Tree& tree;
  std::span<const Nic> nics;
  const GroupOptions& options;
  std::vector<int> node;        ///< of each NIC: its place in the tree, -1 without one
  std::vector<int> gpus_below;  ///< of each node
  RailGroups result;

  const Node& at(int index) const { return tree.nodes[static_cast<std::size_t>(index)]; }
  const Node& place(std::size_t nic) const { return at(node[nic]); }
};

/// "NIC rdmap85s0", "2 NICs (rdmap85s0, ...)".
std::string some(const Work& work, const std::vector<std::size_t>& nics) {
  const std::string& first = work.nics[nics.front()].name;
  return nics.size() == 1 ? "NIC " + first : std::to_string(nics.size()) + " NICs (" + first + ", ...)";
}

void find_places(Work& work) {
  std::map<PciAddress, std::size_t> taken;
  for (std::size_t i = 0; i < work.nics.size(); ++i) {
    const Nic& nic = work.nics[i];
    int node = nic.address ? work.tree.find(*nic.address) : -1;
    if (node >= 0 && !taken.emplace(*nic.address, i).second) {
      work.result.remarks.push_back(nic.name + " and " + work.nics[taken[*nic.address]].name +
                                    " both claim PCI address " + nic.address->text() + "; the place of " + nic.name +
                                    " is taken as unknown");
      node = -1;
    }
    work.node.push_back(node);
  }
  work.gpus_below.assign(work.tree.nodes.size(), 0);
  for (const int gpu : work.tree.all(Kind::kGpu)) {
    for (int above = gpu; above >= 0; above = work.at(above).parent) ++work.gpus_below[static_cast<std::size_t>(above)];
  }
}

/// Whole cards side by side, cards by their lowest address; inside a card by function.
void sort_by_card(const Work& work, std::vector<std::size_t>& nics) {
  std::map<std::uint64_t, PciAddress> lowest;
  for (const std::size_t nic : nics) {
    const Node& node = work.place(nic);
    const auto [entry, is_new] = lowest.emplace(node.card(), node.address);
    if (!is_new) entry->second = std::min(entry->second, node.address);
  }
  std::ranges::sort(nics, {}, [&](std::size_t nic) {
    const Node& node = work.place(nic);
    return std::tuple(lowest[node.card()], node.card_function(), node.address);
  });
}

/// Cuts `nics` into `parts` runs whose lengths differ by one at most, the longer ones first.
std::vector<std::vector<std::size_t>> cut(const std::vector<std::size_t>& nics, std::size_t parts) {
  std::vector<std::vector<std::size_t>> runs;
  auto next = nics.begin();
  for (std::size_t i = 0; i < parts; ++i) {
    const auto length = static_cast<std::ptrdiff_t>(nics.size() / parts + (i < nics.size() % parts ? 1 : 0));
    runs.emplace_back(next, next + length);
    next += length;
  }
  return runs;
}

/// How many devices `nics` NICs make when none may have more than `rails`.
std::size_t parts_of(std::size_t nics, std::size_t rails) { return (nics + rails - 1) / rails; }

std::size_t most_rails(const Work& work) { return static_cast<std::size_t>(std::max(work.options.max_rails, 1)); }

/// `rails`: NICs of one device, for a set that no GPU or the user's own figure divides.
std::size_t parts_without_gpus(const Work& work, std::size_t nics, std::size_t rails) {
  return parts_of(nics, std::clamp<std::size_t>(rails, 1, most_rails(work)));
}

std::size_t parts_for_gpus(const Work& work, std::size_t nics, std::size_t gpus) {
  return std::max(std::min(gpus, nics), parts_of(nics, most_rails(work)));
}

/// Adds `nics`, which meet where `gpus` stand, as `parts` devices.
void add_set(Work& work, const std::vector<std::size_t>& nics, const std::vector<int>& gpus, std::size_t parts) {
  const auto runs = cut(nics, parts);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    RailGroup group{runs[i], {}};
    // Where there are as many devices as GPUs each has its own; else neighbours share.
    for (std::size_t g = 0; g < gpus.size(); ++g) {
      const bool shares =
          runs.size() >= gpus.size() ? i * gpus.size() / runs.size() == g : g * runs.size() / gpus.size() == i;
      if (shares) group.gpus.push_back(gpus[g]);
    }
    work.result.groups.push_back(std::move(group));
  }
}

void order_rails(const Work& work, RailGroup& group) {
  std::ranges::sort(group.rails, {}, [&](std::size_t nic) {
    return std::tuple(work.place(nic).card_function(), work.place(nic).address);
  });
}

std::vector<int> gpus_by_address(const Tree& tree, int above) {
  std::vector<int> gpus;
  for (const int gpu : tree.all(Kind::kGpu)) {
    if (tree.is_below(gpu, above)) gpus.push_back(gpu);
  }
  std::ranges::sort(gpus, {}, [&](int gpu) { return tree.nodes[static_cast<std::size_t>(gpu)].address; });
  return gpus;
}

/// The NICs of the tree, by the lowest node that has them and a GPU below. Deeper nodes come first.
std::map<int, std::vector<std::size_t>, std::greater<>> sets_by_node(const Work& work) {
  std::map<int, std::vector<std::size_t>, std::greater<>> sets;
  for (std::size_t i = 0; i < work.nics.size(); ++i) {
    int above = work.node[i];
    if (above < 0) continue;
    while (above > 0 && work.gpus_below[static_cast<std::size_t>(above)] == 0) above = work.at(above).parent;
    sets[above].push_back(i);
  }
  return sets;
}

std::size_t largest_group(const Work& work) {
  std::size_t largest = 0;
  for (const RailGroup& group : work.result.groups) largest = std::max(largest, group.rails.size());
  return largest;
}

/// As the tree says: a device for every GPU, from the NICs nearest to it.
void group_by_gpu(Work& work) {
  std::vector<bool> served(work.tree.nodes.size());
  for (auto& [node, nics] : sets_by_node(work)) {
    sort_by_card(work, nics);
    const std::vector<int> gpus = gpus_by_address(work.tree, node);
    // Those that have NICs nearer by are served; what is left over goes to the others.
    std::vector<int> waiting;
    std::ranges::copy_if(gpus, std::back_inserter(waiting),
                         [&](int gpu) { return !served[static_cast<std::size_t>(gpu)]; });
    if (!waiting.empty()) {
      std::size_t parts = parts_for_gpus(work, nics.size(), waiting.size());
      // What others have left over makes no device larger than theirs.
      if (const std::size_t largest = largest_group(work); largest > 0)
        parts = std::max(parts, parts_of(nics.size(), largest));
      add_set(work, nics, waiting, parts);
    } else if (gpus.empty()) {
      add_set(work, nics, {},
              parts_without_gpus(work, nics.size(),
                                 static_cast<std::size_t>(std::max(work.options.rails_without_gpus, 1))));
    } else {
      work.result.remarks.push_back(
          some(work, nics) + (nics.size() == 1 ? " has" : " have") +
          " only GPUs near by that have nearer NICs: devices of their own, as large as the others. This is usual where "
          "the "
          "machine has more NICs than stand under its GPUs' switches, or a container hides GPUs");
      add_set(work, nics, {}, parts_without_gpus(work, nics.size(), largest_group(work)));
    }
    for (const int gpu : gpus) served[static_cast<std::size_t>(gpu)] = true;
  }
}

/// As the user says. Sets stay apart as long as each has enough NICs for one device.
void group_by_count(Work& work) {
  const std::size_t rails = std::min(static_cast<std::size_t>(work.options.rails), most_rails(work));
  std::vector<std::size_t> together;
  for (auto& [node, nics] : sets_by_node(work)) {
    if (nics.size() >= rails) {
      sort_by_card(work, nics);
      add_set(work, nics, gpus_by_address(work.tree, node), parts_of(nics.size(), rails));
    } else {
      std::ranges::copy(nics, std::back_inserter(together));
    }
  }
  if (together.empty()) return;
  sort_by_card(work, together);
  add_set(work, together, gpus_by_address(work.tree, 0), parts_of(together.size(), rails));
}

void group_placed(Work& work) {
  work.options.rails > 0 ? group_by_count(work) : group_by_gpu(work);
  for (RailGroup& group : work.result.groups) order_rails(work, group);
  std::ranges::stable_sort(work.result.groups, {}, [&](const RailGroup& group) {
    PciAddress lowest = work.place(group.rails.front()).address;
    for (const std::size_t nic : group.rails) lowest = std::min(lowest, work.place(nic).address);
    return lowest;
  });
}

/// NICs that the tree does not know: by name, which both ends have alike.
void group_unplaced(Work& work) {
  std::vector<std::size_t> nics;
  for (std::size_t i = 0; i < work.nics.size(); ++i) {
    if (work.node[i] < 0) nics.push_back(i);
  }
  if (nics.empty()) return;
  std::ranges::sort(nics, {}, [&](std::size_t nic) {
    return std::tuple(!work.nics[nic].address.has_value(), work.nics[nic].address, work.nics[nic].name);
  });
  const bool any_pci = std::ranges::any_of(nics, [&](std::size_t nic) { return work.nics[nic].address.has_value(); });
  if (any_pci) {
    work.result.remarks.push_back(
        "the place of " + some(work, nics) +
        " among the PCI devices is hidden: a container may mask /sys. No GPU can be told to be "
        "near; show /sys to the process, or set WEFT_RAILS");
  }
  const int rails = work.options.rails > 0 ? work.options.rails : work.options.rails_without_gpus;
  add_set(work, nics, {}, parts_without_gpus(work, nics.size(), static_cast<std::size_t>(std::max(rails, 1))));
}

/// A NIC that is missing costs bandwidth in silence: the slowest device decides how fast a collective is.
void remark_on_sizes(Work& work) {
  const bool asked = work.options.rails > 0;
  const auto wanted = static_cast<std::size_t>(std::max(asked ? work.options.rails : work.options.expected_rails, 0));
  for (const RailGroup& group : work.result.groups) {
    if (group.rails.size() >= std::min(wanted, most_rails(work)) || (!asked && group.gpus.empty())) continue;
    work.result.remarks.push_back("the device of " + some(work, group.rails) + " has " +
                                  std::to_string(group.rails.size()) + (group.rails.size() == 1 ? " rail" : " rails") +
                                  ", not " + std::to_string(wanted) +
                                  (asked ? " as WEFT_RAILS asks: the NICs do not divide so"
                                         : " as on the whole machine: NICs of its GPU are missing or hidden"));
  }
}

/// The processor, where a GPU and the lead NIC of its device meet nowhere nearer.
void remark_on_gpus(Work& work) {
  struct Far {
    int gpu, nic;
    const std::string* name;
  };
  std::vector<Far> far;
  std::size_t seen = 0;
  const std::vector<int> gpus = gpus_by_address(work.tree, 0);
  for (const int gpu : gpus) {
    const int index = group_of_gpu(work.tree, work.nics, work.result, gpu);
    if (index < 0) return;
    if (work.at(gpu).is_withheld) continue;  // somebody else's
    ++seen;
    const auto& rails = work.result.groups[static_cast<std::size_t>(index)].rails;
    if (work.node[rails.front()] < 0) continue;
    // The nearest of its rails counts.
    const std::size_t lead = *std::ranges::max_element(
        rails, {}, [&](std::size_t rail) { return work.tree.common_ancestor(gpu, work.node[rail]); });
    const int nic = work.node[lead];
    const Kind meet = work.at(work.tree.common_ancestor(gpu, nic)).kind;
    if (meet == Kind::kMachine || meet == Kind::kNuma) far.push_back({gpu, nic, &work.nics[lead].name});
  }
  // Where no GPU has a NIC under its switch, the machine is built so, and only the way between processors is news.
  const bool usual = far.size() == seen;
  for (const auto& [gpu, nic, name] : far) {
    const int gpu_node = work.tree.numa_of(gpu), nic_node = work.tree.numa_of(nic);
    const bool crosses = gpu_node >= 0 && nic_node >= 0 && gpu_node != nic_node;
    if (usual && !crosses) continue;
    work.result.remarks.push_back(work.at(gpu).name + " has no NIC under its switch; using NIC " + *name +
                                  (crosses ? " across the CPU link" : " through the processor"));
  }
}

}  // namespace

RailGroups group_rails(const Tree& tree, std::span<const Nic> nics, const GroupOptions& options) {
  Work work{tree, nics, options, {}, {}, {}};
  find_places(work);
  group_placed(work);
  group_unplaced(work);
  remark_on_sizes(work);
  remark_on_gpus(work);
  return std::move(work.result);
}

std::vector<Nic> efa_nics(const Tree& tree) {
  std::vector<Nic> nics;
  for (const Node& node : tree.nodes) {
    if (node.is_efa() && !node.is_withheld) nics.push_back({node.name, node.address, node.speed_mbps});
  }
  return nics;
}

int group_of_gpu(const Tree& tree, std::span<const Nic> nics, const RailGroups& groups, int gpu) {
  int best = groups.groups.empty() ? -1 : 0, best_meet = -1;
  for (std::size_t i = 0; i < groups.groups.size(); ++i) {
    const RailGroup& group = groups.groups[i];
    if (std::ranges::find(group.gpus, gpu) != group.gpus.end()) return static_cast<int>(i);
    const Nic& lead = nics[group.rails.front()];
    const int nic = lead.address ? tree.find(*lead.address) : -1;
    // Deeper nodes have larger indices than all above them, so of two ancestors of one GPU the larger is the nearer.
    const int meet = nic < 0 ? -1 : tree.common_ancestor(gpu, nic);
    if (meet > best_meet) {
      best_meet = meet;
      best = static_cast<int>(i);
    }
  }
  return best;
}

}  // namespace weft::topology
