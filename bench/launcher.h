// Starts the ranks of a run on this machine, watches over them, and ends them all when one of them fails.
#pragma once

#include "bench/options.h"
#include "weft/result.h"

namespace weft::bench {

/// Runs `options.role.launch` copies of this program, each with its rank added to the arguments, and returns the exit
/// status of the run. When a rank dies, the others have a few seconds to report it in their own words before they are
/// killed. No rank outlives this call, nor this process. Call it while the process has one thread.
Result<int> launch_ranks(const Options& options, int argc, char** argv);

}  // namespace weft::bench
