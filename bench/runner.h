// Runs a workload over one or two plugins: sizes, rounds, checks, and everything that is printed about them.
#pragma once

#include "bench/session.h"
#include "weft/result.h"

namespace weft::bench {

/// All ranks must call it; rank 0 prints. Returns how many elements were wrong on all ranks together.
Result<std::size_t> run_workload(const Session& session);

}  // namespace weft::bench
