// A machine for other programs.
//
// {
//   "format": 1,                   grows by one when a field changes its meaning or goes away; new fields may come
//   "instance_type": "p5.48xlarge" or null,
//   "instance": null (not in Weft's table), or
//     {"type", "efa", "nics", "nic_mbps", "gpus", "rails", "protocol", "latency_us", "source"},
//   "speed_mbps": 3200000,         of all NICs used; null: unknown
//   "devices": [                   in NCCL's order
//     {"device": 0, "nics": ["rdmap85s0", ...], the lead first
//      "speed_mbps": 400000 or null, "gpus": ["0000:53:00.0", ...]}],
//   "nics": [                      the NICs used
//     {"name", "address" or null, "speed_mbps" or null, "device": 0, "rail": 0}],
//   "gpus": [
//     {"name": "GPU 0", "address", "numa": 0 or null, "device": 0 or null}],    the device that serves it
//   "tree":                        every node; each has "kind" and "children"
//     {"kind": "machine" | "numa" | "host_bridge" | "bridge" | "gpu" | "nic",
//      numa: "numa";  host_bridge: "bus" ("0000:44");  bridge, gpu and nic: "address", "vendor", "device_id", "class"
//      ("0x1d0f"), "link_gbps" (raw) or null;  gpu and nic: "name";
//      nic: "driver", "speed_mbps" and "node_guid", each or null, "efa": true or false, "used": true or false,
//      "children": [...]},
//   "nccl_settings": [{"variable", "value", "reason", "source"}],
//   "remarks": ["...", ...],       about the devices
//   "oddities": ["...", ...]       about the machine
// }
#pragma once

#include <string>

#include "topology/view.h"

namespace weft::topology {

/// As above, indented, ends with a newline.
std::string json_view(const View& view);

}  // namespace weft::topology
