// Two ranks: latency, bandwidth, message rate and connection time of a plugin, next to another plugin and to bare
// libfabric if wanted. Everything that is compared is measured in turn, in several rounds.
#pragma once

#include "bench/session.h"
#include "weft/result.h"

namespace weft::bench {

/// Both ranks must call it; rank 0 prints. Returns how many bytes were wrong on both ranks together.
Result<std::size_t> run_point_to_point(const Session& session);

}  // namespace weft::bench
