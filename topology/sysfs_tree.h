// A machine's tree from the kernel's own files, for machines without hwloc.
#pragma once

#include <filesystem>

#include "topology/tree.h"

namespace weft::topology {

/// Reads `root`/sys. What cannot be read is left out and named in Tree::oddities; with nothing to read the tree has
/// its root alone.
Tree read_sysfs(const std::filesystem::path& root);

/// Fills in what only the kernel knows of the bridge, GPU or NIC at `node.address`: the best rate of its link; a NIC's
/// RDMA device or interface, driver, speed and GUID; whether this process has the device's file. Leaves alone what it
/// cannot read.
void describe(Node& node, const std::filesystem::path& root);

/// The machine's product name (on EC2 its instance type); empty where the firmware's tables are hidden.
std::string product_name(const std::filesystem::path& root);

/// What a PCI function is to Weft; nothing for all that is neither GPU nor NIC.
std::optional<Kind> kind_of_device(std::uint16_t vendor, std::uint16_t device, std::uint32_t pci_class) noexcept;

}  // namespace weft::topology
