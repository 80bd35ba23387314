#pragma once

#include "tests/emulation/efa/operation.h"

namespace weft::emulation::efa {

// Executes a work request as the two NICs together would: checks both sides, takes the target's receive, moves the data
// and tells the target. The target's process does nothing. Returns how it ended; kRemoteNotReady may be tried again.
CompletionStatus deliver(const Operation& operation);

}  // namespace weft::emulation::efa
