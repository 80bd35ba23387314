#pragma once

#include <string>

namespace weft::emulation::efa {

// Writes the host's sysfs: the InfiniBand class folders that libfabric reads, and the PCI tree of NICs, GPUs and
// bridges as hwloc reads it (HWLOC_FSROOT is the folder above "sys"). Several processes of one host may do so at once.
void write_sysfs();

// The last address of a PCI place: that of the device itself.
std::string pci_address(const std::string& place);

// The folder of a NIC's InfiniBand device.
std::string infiniband_folder(const std::string& nic);

}  // namespace weft::emulation::efa
