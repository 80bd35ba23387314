#include "topology/instances.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace weft::topology {

namespace {

/// Which defaults a type gets: those of its own set and of every set before it.
enum class DefaultSet { kNone, kLargeChunks, kHopper, kSharedSwitch };

struct DefaultRow {
  DefaultSet set;
  NcclDefault value;
};

constexpr DefaultRow kDefaultRows[] = {
#define WEFT_DEFAULT(set, variable, value, reason, source) {DefaultSet::set, {variable, value, reason, source}},
#include "topology/instances.def"
};

static_assert(std::ranges::is_sorted(kDefaultRows, {}, &DefaultRow::set), "a set is the rows up to its last one");

constexpr auto kDefaults = [] {
  std::array<NcclDefault, std::size(kDefaultRows)> values;
  std::ranges::transform(kDefaultRows, values.begin(), &DefaultRow::value);
  return values;
}();

constexpr std::span<const NcclDefault> defaults_of(DefaultSet set) {
  const auto after = std::ranges::upper_bound(kDefaultRows, set, {}, &DefaultRow::set);
  return std::span(kDefaults).first(static_cast<std::size_t>(after - std::begin(kDefaultRows)));
}

constexpr Instance kInstances[] = {
#define WEFT_INSTANCE(type, efa, nics, nic_mbps, gpus, rails, latency_us, protocol, defaults, source) \
  {type, efa, nics, nic_mbps, gpus, rails, latency_us, protocol, source, defaults_of(DefaultSet::defaults)},
#include "topology/instances.def"
};

constexpr bool each_stands_once() {
  for (const Instance& row : kInstances) {
    if (std::ranges::count(kInstances, row.type, &Instance::type) != 1) return false;
  }
  for (const NcclDefault& row : kDefaults) {
    if (std::ranges::count(kDefaults, row.variable, &NcclDefault::variable) != 1) return false;
  }
  return true;
}

constexpr bool is_sane(const Instance& row) {
  constexpr int kMostNics = 32;           // p5.48xlarge
  constexpr int kSlowestNic = 10'000;     // Mb/s; anything below is a figure in other units
  constexpr int kFastestNic = 1'600'000;  // the fastest link the EFA driver knows
  const bool speed_is_sane = row.nic_mbps == 0 || (row.nic_mbps >= kSlowestNic && row.nic_mbps <= kFastestNic);
  const bool protocol_is_known = row.protocol == "rdma" || row.protocol == "sendrecv";
  return row.nics >= 1 && row.nics <= kMostNics && speed_is_sane && row.gpus >= 1 && row.gpus <= 16 && row.rails >= 1 &&
         row.rails <= 8 && row.rails <= row.nics && row.latency_us >= 0 && protocol_is_known &&
         (row.protocol == "rdma" || row.rails == 1) && !row.source.empty();
}

static_assert(each_stands_once(), "a type or a variable stands twice");
static_assert(std::ranges::all_of(kInstances, is_sane), "a row's figures contradict themselves or their bounds");
static_assert(std::ranges::all_of(kDefaults,
                                  [](const NcclDefault& row) {
                                    return row.variable.starts_with("NCCL_") && !row.value.empty() &&
                                           !row.reason.empty() && !row.source.empty();
                                  }),
              "a default lacks its value, its reason or its source");

}  // namespace

std::span<const Instance> instances() { return kInstances; }

const Instance* find_instance(std::string_view type) {
  const auto found = std::ranges::find(kInstances, type, &Instance::type);
  return found != std::end(kInstances) ? &*found : nullptr;
}

}  // namespace weft::topology
