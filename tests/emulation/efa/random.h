#pragma once

#include <cstdint>

namespace weft::emulation::efa {

// 0 to n - 1, from the rig's seed and the host's number; 0 when n is 0. Any thread.
uint64_t random_below(uint64_t n);
bool happens(uint64_t per_million);

}  // namespace weft::emulation::efa
