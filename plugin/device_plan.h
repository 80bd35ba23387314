// From the NICs that may be used to the devices to open: which NICs belong together, and what NCCL is told of them.
#pragma once

#include <string>
#include <vector>

#include "topology/tree.h"
#include "transports/fabric/info.h"
#include "weft/params.h"
#include "weft/result.h"

namespace weft::plugin {

/// One device: its NICs, the lead first.
struct PlannedDevice {
  std::vector<const fabric::Info*> rails;
  std::uint64_t guid = 0;  ///< the same for all functions of the lead's card, on this host only
  float latency_us = 0;    ///< 0: unknown
  int rail_mbps = 0;       ///< what the instance table knows of each NIC; 0: nothing
  int rail_id = -1;        ///< the same on every host that is built alike; -1: unknown
};

struct DevicePlan {
  std::vector<PlannedDevice> devices;
  std::vector<std::string> remarks;  ///< sentences for the user: what was odd about the machine
};

/// `tree`: this machine's for EFA NICs; others need none and stand alone unless WEFT_RAILS says more. `most_rails`:
/// what the transport can drive. Fails for WEFT_NICS and WEFT_NICS_EXCLUDE that cannot be followed. The infos must
/// outlive the plan.
Result<DevicePlan> plan_devices(const std::vector<fabric::Info>& nics, const topology::Tree& tree, const Params& params,
                                int most_rails);

}  // namespace weft::plugin
