// A machine for reading in a terminal.
#pragma once

#include <string>

#include "topology/view.h"

namespace weft::topology {

/// The tree with its GPUs and NICs, the devices NCCL will see, what was odd, and the instance's NCCL settings. UTF-8,
/// ends with a newline.
std::string text_view(const View& view);

}  // namespace weft::topology
