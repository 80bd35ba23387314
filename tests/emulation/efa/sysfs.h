#pragma once

#include <string>

namespace weft::emulation::efa {

// The folder above the "sys" of the host's own files: the InfiniBand class folders that libfabric reads, and the PCI
// tree of NICs, GPUs and bridges as NCCL and hwloc read it. Canonical. Written with the first call; several processes
// of one host may do so at once. Programs see it below /sys (emulated_path.h), or with HWLOC_FSROOT.
const std::string& sysfs_root();

}  // namespace weft::emulation::efa
