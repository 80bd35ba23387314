#pragma once

#include "tests/emulation/efa/verbs.h"

namespace weft::emulation::efa {

// The functions by which a poller reads the current completion.
void set_completion_readers(ibv_cq_ex* queue, efadv_cq* device);

}  // namespace weft::emulation::efa
