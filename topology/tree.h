// A machine as its PCI tree shows it: NUMA nodes, bridges, GPUs and NICs. Where it was read from does not matter here;
// sysfs_tree.h and hwloc_tree.h make one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topology/pci_address.h"

namespace weft::topology {

enum class Kind : std::uint8_t {
  kMachine,     ///< the root
  kNuma,        ///< a NUMA node
  kHostBridge,  ///< where a PCI bus hangs on the processors
  kBridge,      ///< a port of a PCI switch, or a root port
  kGpu,         ///< a GPU, or another accelerator that talks through NICs
  kNic,         ///< a network function: EFA or not
};

/// EFA's PCI identity: Amazon's vendor number, and device numbers from 0xefa0, one per generation (Linux,
/// drivers/infiniband/hw/efa/efa_main.c).
inline constexpr std::uint16_t kAmazonVendor = 0x1d0f;
inline constexpr std::uint16_t kFirstEfaDevice = 0xefa0;
inline constexpr std::uint16_t kLastEfaDevice = 0xefaf;
inline constexpr std::uint16_t kNvidiaVendor = 0x10de;

struct Node {
  Kind kind = Kind::kMachine;
  int parent = -1;           ///< index of the node above; -1 for the root
  PciAddress address;        ///< of bridges and devices; of a host bridge only domain and bus count
  std::uint16_t vendor = 0;  ///< PCI numbers of bridges and devices
  std::uint16_t device = 0;
  std::uint32_t pci_class = 0;  ///< 24 bits: 0x030200 is a 3D controller
  double link_gbps = 0;         ///< raw rate of the PCI link above, in Gb/s (lanes x transfers); 0: unknown
  int numa = -1;                ///< kNuma: its number
  std::string name;             ///< NIC: the RDMA device ("rdmap85s0") or the interface; GPU: "GPU 0", in PCI order
  std::string driver;           ///< NIC: the kernel's driver, if known
  int speed_mbps = 0;           ///< NIC: of its port; 0: unknown
  std::uint64_t node_guid = 0;  ///< NIC: of its RDMA device; 0: unknown
  /// GPU, NIC: the machine has it, but this process not its file in /dev, as in a container that was given others.
  bool is_withheld = false;

  bool is_efa() const noexcept {
    return kind == Kind::kNic && vendor == kAmazonVendor && device >= kFirstEfaDevice && device <= kLastEfaDevice;
  }

  /// NIC: which of its card's functions it is, and what is the same for all functions of the card and for no other card
  /// of this machine.
  unsigned card_function() const noexcept;
  std::uint64_t card() const noexcept;
};

struct Tree {
  std::vector<Node> nodes{Node{}};    ///< the root first, every parent before its children, children in PCI order
  std::string instance_type;          ///< the machine's product name, on EC2 "p5.48xlarge"; empty: unknown
  std::vector<std::string> oddities;  ///< sentences: what could not be read, what contradicts itself

  /// For readers: the index of the NUMA node `number`, which is made where it is not there yet.
  int numa_node(int number);
  /// Puts parents before children and children in the order of their addresses, and names the GPUs. Readers call it
  /// last.
  void put_in_order();

  /// The device at `address`, -1 if there is none.
  int find(const PciAddress& address) const noexcept;
  std::vector<int> children(int node) const;
  /// All nodes of `kind` in the order of the tree.
  std::vector<int> all(Kind kind) const;
  /// True if `node` is `above` or stands somewhere below it.
  bool is_below(int node, int above) const noexcept;
  /// The lowest node that has both below it.
  int common_ancestor(int a, int b) const noexcept;
  /// The NUMA node above `node`, -1 if the machine does not say.
  int numa_of(int node) const noexcept;
};

}  // namespace weft::topology
