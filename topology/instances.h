// What is known of EC2's instance types, as data: instances.def.
#pragma once

#include <span>
#include <string_view>

namespace weft::topology {

/// What NCCL should be told where the user has not said it: one variable, its value, and why.
struct NcclDefault {
  std::string_view variable;
  std::string_view value;
  std::string_view reason;
  std::string_view source;
};

struct Instance {
  std::string_view type;  ///< "p5.48xlarge"
  std::string_view efa;   ///< generation, such as "EFAv2 (0xefa1)"; empty: not known
  int nics;               ///< EFA NICs at most; 0: not known
  int nic_mbps;           ///< of each; 0: not known
  int gpus;
  int rails;                  ///< expected NICs of one device
  float latency_us;           ///< what NCCL is told; 0: not known
  std::string_view protocol;  ///< "rdma" or "sendrecv"
  std::string_view source;    ///< where the row's figures come from
  std::span<const NcclDefault> defaults;
};

/// All rows, in the order of instances.def.
std::span<const Instance> instances();

/// The row of a type such as "p5.48xlarge"; null if it is not in the table.
const Instance* find_instance(std::string_view type);

}  // namespace weft::topology
