// What a device tells its user about itself, in Weft's own words; plugin/ turns it into the ABI's struct.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft {

/// Kinds of memory a registration can name. The values are those of NCCL's NCCL_PTR_* (net.h), so they can be or-ed.
enum PointerKind : int { kPointerHost = 0x1, kPointerCuda = 0x2, kPointerDmaBuf = 0x4 };

struct DeviceProperties {
  std::string name;                    ///< interface or NIC, as the provider calls its domain: "eth0", "rdmap85s0-rdm"
  std::string pci_path;                ///< sysfs path of the PCI function; empty if there is none
  std::uint64_t guid = 0;              ///< the same for all functions of one card
  int pointer_support = kPointerHost;  ///< or-ed PointerKind
  int speed_mbps = 0;                  ///< sum over the rails; never 0 once a device is open
  int port = 1;
  float latency_us = 0;  ///< 0: unknown
  int max_comms = 0;
  int max_receives = 1;                ///< largest grouped receive
  bool registration_is_global = true;  ///< a registration serves every communicator of the device
  bool force_flush = false;
  std::size_t max_message_bytes = 0;  ///< one transfer; never above what the ABI's `int` sizes can report
  int rail_id = -1;
  int plane_id = -1;
  std::vector<int> members;  ///< the devices that NCCL has made this one of; empty: it is none of those
};

}  // namespace weft
