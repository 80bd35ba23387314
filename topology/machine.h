// This machine's tree, by the best means there are.
#pragma once

#include <filesystem>

#include "topology/tree.h"

namespace weft::topology {

/// Through hwloc; without it, or where it sees no PCI device, from sysfs, with the reason in Tree::oddities. With
/// another `root` than "/", which hwloc cannot be given, always from `root`/sys.
Tree read_machine(const std::filesystem::path& root = "/");

}  // namespace weft::topology
