#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::emulation::efa {

// The emulated host, read from the environment once per process.
//   WEFT_LAB_EFA_DOMAIN     the rig that the process belongs to ("default")
//   WEFT_LAB_EFA_NICS       NICs of the host (1)
//   WEFT_LAB_NODE_VARIABLE  name of the variable that holds the host's number (WEFT_LAB_NODE; 0). Processes with the
//                           same number share NICs, all others are across the network
//   WEFT_LAB_EFA_PCI        PCI places of the NICs, separated by commas: addresses, each with the bridges above it
//                           before it: 0000:10:01.0/0000:11:00.0 (those of default_places.h)
//   WEFT_LAB_EFA_NUMA       their NUMA nodes (0)
//   WEFT_LAB_CUDA_DEVICES   GPUs that stand in the same tree (as many as have a place)
//   WEFT_LAB_CUDA_PCI       their PCI places
//   WEFT_LAB_EFA_SYSFS      where the host's sysfs is written (/dev/shm/weft-efa.<domain>.sysfs.<node>)
//   WEFT_LAB_EFA_PRODUCT    what the machine calls itself, such as p5.48xlarge
//   WEFT_LAB_EFA_KNOBS      knobs of its NICs from the start: latency_us=5,2:reorder=8 (2: of the third NIC alone)
//   WEFT_LAB_EFA_SEED       of everything random (1)
//   WEFT_LAB_EFA_PART_ID    the generation that the device says it is (0xefa2)
//   WEFT_LAB_EFA_CAPS       efadv's capability bits (0x1f, all)
//   WEFT_LAB_EFA_MTU, _MAX_SQ, _MAX_RQ, _MAX_CQE, _MAX_RDMA   limits
//   WEFT_LAB_EFA_IN_ORDER   1: claims that aligned 128 bytes land in order (0)
//   WEFT_LAB_EFA_STRICT_AH  0: RDMA needs no address handle of the initiator at the target (1)
struct Settings {
  uint32_t nics = 1;
  uint32_t node = 0;
  std::vector<std::string> pci, gpu_pci;
  std::vector<int> numa;
  std::string sysfs;
  std::string knobs;
  std::string product;  // what the machine calls itself; empty: the real one's name
  uint64_t seed = 1;
  uint32_t part_id = 0xefa2;
  uint32_t capabilities = 0x1f;
  uint32_t mtu = 8928;
  uint32_t max_sends = 4096, max_receives = 8192, max_completions = 32768;
  uint32_t max_rdma = 1u << 30;
  bool in_order = false;
  bool strict_address_handles = true;
};

const Settings& settings();

}  // namespace weft::emulation::efa
