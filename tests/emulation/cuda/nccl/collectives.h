#pragma once

#include <cstddef>

#include "tests/emulation/cuda/nccl/device_image.h"
#include "tests/emulation/cuda/nccl/function_table.h"
#include "tests/emulation/cuda/nccl/layout.h"
#include "tests/emulation/cuda/nccl/primitives.h"
#include "tests/emulation/cuda/nccl/task.h"

// The bodies of NCCL's kernels: what one block does for one piece of work.
namespace weft::emulation::nccl {

Task run_point_to_point(Block& block, PointToPointWork work, bool is_send);
Task run_ring(Block& block, CollectiveWork work, Function function);
// All-reduce: reduces towards the root and broadcasts down at the same time.
Task run_tree(Block& block, CollectiveWork work, Function function);
// All-gather and reduce-scatter over powers of two, as NCCL's own plan in the image says.
Task run_pat(Block& block, CollectiveWork work, Function function, const DeviceImage& image);

// A channel's part of a collective, in elements.
struct Part {
  size_t count;  // all channels
  size_t offset, size, chunk;
};
Part part_of(const CollectiveWork& work, int channel, const Function& function);

inline Reduction reduction_of(const CollectiveWork& work, const Function& function) {
  Reduction reduction{function.op, function.type, work.reduction_argument};
  if (work.reduction_is_pointer) {
    reduction.argument = 0;
    __builtin_memcpy(&reduction.argument, reinterpret_cast<const void*>(work.reduction_argument),
                     size_of(function.type));
  }
  return reduction;
}

}  // namespace weft::emulation::nccl
