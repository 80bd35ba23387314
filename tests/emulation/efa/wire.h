#pragma once

#include "tests/emulation/efa/operation.h"

namespace weft::emulation::efa {

class QueuePair;

// The wire of this process. A work request normally runs to its end inside the call that posts it. When a knob asks for
// a delay or another order, or the receiver is not ready, the wire's thread executes it later, and so do polls.

void wire_post(const Operation& operation);
// Executes what is due. Costs one load when nothing is.
void wire_progress();
// Drops what is on its way and waits for what is being executed.
void wire_forget(QueuePair& pair);

}  // namespace weft::emulation::efa
