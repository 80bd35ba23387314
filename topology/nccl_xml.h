// The machine as NCCL's topology file (NCCL_TOPO_FILE, or /var/run/nvidia-topologyd/virtualTopology.xml).
//
// NCCL would find GPUs and NICs by itself. What it cannot find is that a device is more than the one NIC whose PCI
// function the plugin names: it would take that NIC's link for the whole device's. Here the lead NIC, and the bridges
// above it that its other rails do not share, have links that carry all rails.
//
// Facts (NCCL 2.29.7, src/graph/xml.cc and topo.cc) that shape the text:
// - The parser knows no XML declaration, no entities and no tabs; it takes 255 characters a value and 256 nodes in all,
//   of which NCCL needs some itself. So there are only GPUs, lead NICs, and the bridges between.
// - What NCCL meets again on its own machine it completes from sysfs, but keeps links and parents it has been given.
//   Branches without a GPU or NIC in use are dropped. <net> and <gpu> are its own to add.
// - Of a switch it has one node, the upstream port. To count hops as it does, every other bridge is left out. Where a
//   virtual machine hides the switch (P4d), it is written anew, at an address that no device has: NCCL would send what
//   is between the GPU and the NIC through the processor, and without GPUDirect.
// - A link carries width x speed / 80 GB/s, the speed being 7.5 times the transfer rate; that is 3/4 of the raw rate.
// - A processor without `arch`, and on x86_64 `vendor`, is an error, unless NCCL reached it from a device and filled
//   it in.
// - `affinity` may be missing, and `host_hash` is always written anew.
#pragma once

#include <optional>
#include <string>

#include "topology/view.h"

namespace weft::topology {

/// As NCCL wants to know it.
struct Processor {
  std::string arch;    ///< "x86_64", "arm64"
  std::string vendor;  ///< "GenuineIntel"; empty: not x86
  int family = 0;      ///< by NCCL's own arithmetic, extended << 4 + basic
  int model = 0;
};

/// Of the machine this runs on; nothing on architectures that NCCL does not know.
std::optional<Processor> own_processor();

/// False where NCCL finds all of it by itself: every device is one NIC, and no switch is hidden.
bool nccl_needs_xml(const View& view);

/// Without a processor (a machine that is not this one) its attributes are left for NCCL to fill in.
std::string nccl_xml(const View& view, const std::optional<Processor>& processor);

}  // namespace weft::topology
