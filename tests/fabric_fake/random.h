// Chance that a seed repeats.
#pragma once

#include <cstdint>

namespace weft::test {

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014): the same sequence for the
/// same seed on every platform.
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// Below `limit`, which is not 0.
  std::uint64_t below(std::uint64_t limit) noexcept { return next() % limit; }
  /// True with the given probability.
  bool chance(double probability) noexcept { return static_cast<double>(next() >> 11) * 0x1p-53 < probability; }

 private:
  std::uint64_t state_;
};

}  // namespace weft::test
