// The fake's fi_info: made, copied and freed as libfabric's own.
#pragma once

#include <rdma/fabric.h>

#include "tests/fabric_fake/fake_options.h"

namespace weft::test {

/// fi_dupinfo(3): a deep copy without the rest of the list; an empty one for null.
fi_info* dup_info(const fi_info* info);
/// fi_freeinfo(3): the whole list.
void free_info(fi_info* info);

/// What `nic` offers for `hints` (null: everything), as fi_getinfo(3) has it; null if it cannot serve them.
fi_info* offer(const FakeNic& nic, const fi_info* hints);

}  // namespace weft::test
