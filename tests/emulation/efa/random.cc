#include "tests/emulation/efa/random.h"

#include <mutex>
#include <random>

#include "tests/emulation/efa/settings.h"

namespace weft::emulation::efa {

uint64_t random_below(uint64_t n) {
  static auto& mutex = *new std::mutex;
  static auto& engine = *new std::mt19937_64(settings().seed * 1000003 + settings().node);
  const std::lock_guard guard(mutex);
  return n != 0 ? engine() % n : 0;
}

bool happens(uint64_t per_million) { return per_million != 0 && random_below(1'000'000) < per_million; }

}  // namespace weft::emulation::efa
