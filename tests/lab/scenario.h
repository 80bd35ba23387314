#pragma once

#include "tests/lab/options.h"
#include "tests/lab/world.h"

namespace weft::lab {

// Plays the scenario's part of this process. Returns the process's exit status.
int run_scenario(const Options& options, World& world);

}  // namespace weft::lab
