#pragma once

#include <vector>

#include "tests/emulation/cuda/module.h"
#include "tests/emulation/cuda/nccl/device_image.h"

namespace weft::emulation::nccl {

// A launch of a kernel of NCCL's. Refused when the library is of a version whose layouts are not known, or when the
// work names a function that is not emulated.
Launch prepare_kernel(const DeviceImage& image, unsigned blocks, const std::vector<char>& parameters);

}  // namespace weft::emulation::nccl
