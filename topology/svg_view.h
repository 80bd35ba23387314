// A picture of a machine.
#pragma once

#include <string>

#include "topology/view.h"

namespace weft::topology {

/// An SVG file at most 1200 pixels wide: NUMA nodes as rows, switches as boxes in them, GPUs and NICs in those, all
/// NICs of a device and the GPUs it is for in one colour. No scripts, no references to elsewhere.
std::string svg_view(const View& view);

}  // namespace weft::topology
