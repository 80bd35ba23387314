#include "tests/lab/pattern.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace weft::lab {
namespace {

// The most that the eight ranks of a test may add up to: 8 * 15 fits in int8 and is exact in bfloat16.
constexpr unsigned kValues = 16;
// An average of floats is a sum of rounded products.
constexpr double kAverageTolerance = 1.0 / 32;

double value_of(Operation operation, int rank, size_t index, unsigned salt) {
  uint64_t hash = (static_cast<uint64_t>(rank) + 1) * 0x9e3779b97f4a7c15 + index * 0xbf58476d1ce4e5b9 +
                  (salt + uint64_t{1}) * 0x94d049bb133111eb;
  hash ^= hash >> 31;
  hash *= 0xd6e8feb86659fd93;
  hash ^= hash >> 32;
  // A product of eight ones and twos is at most 256: exact in bfloat16, and for int8 at most 64 with one in four a two.
  if (operation == Operation::kProduct) return rank < 6 && hash % 4 == 0 ? 2 : 1;
  return static_cast<double>(hash % kValues);
}

double reduce(Operation operation, double one, double other) {
  switch (operation) {
    case Operation::kProduct: return one * other;
    case Operation::kMax: return std::max(one, other);
    case Operation::kMin: return std::min(one, other);
    default: return one + other;
  }
}

}  // namespace

Pattern Pattern::of_rank(Element element, Operation operation, int rank, unsigned salt) {
  Pattern pattern(element);
  for (size_t i = 0; i < kPeriod; ++i) {
    store(element, value_of(operation, rank, i, salt), &pattern.period_[i * size_of(element)]);
  }
  return pattern;
}

Pattern Pattern::of_reduction(Element element, Operation operation, int ranks, unsigned salt) {
  Pattern pattern(element);
  const bool average = operation == Operation::kAverage;
  if (average && !is_integer(element)) pattern.tolerance_ = kAverageTolerance;
  for (size_t i = 0; i < kPeriod; ++i) {
    double result = value_of(operation, 0, i, salt);
    for (int rank = 1; rank < ranks; ++rank) result = reduce(operation, result, value_of(operation, rank, i, salt));
    if (average) result = is_integer(element) ? std::trunc(result / ranks) : result / ranks;
    store(element, result, &pattern.period_[i * size_of(element)]);
  }
  return pattern;
}

void Pattern::fill(char* to, size_t begin, size_t count) const {
  const size_t size = size_of(element_);
  while (count > 0) {
    const size_t phase = begin % kPeriod;
    const size_t now = std::min(count, kPeriod - phase);
    memcpy(to, &period_[phase * size], now * size);
    to += now * size;
    begin += now;
    count -= now;
  }
}

size_t Pattern::count_wrong(const char* from, size_t begin, size_t count) const {
  const size_t size = size_of(element_);
  size_t wrong = 0;
  while (count > 0) {
    const size_t phase = begin % kPeriod;
    const size_t now = std::min(count, kPeriod - phase);
    const char* want = &period_[phase * size];
    if (memcmp(from, want, now * size) != 0) {
      for (size_t i = 0; i < now; ++i) {
        const double got = load(element_, from + i * size);
        const double expected = load(element_, want + i * size);
        const bool near = std::abs(got - expected) <= tolerance_ * std::max(1.0, std::abs(expected));
        if (tolerance_ == 0 ? memcmp(from + i * size, want + i * size, size) != 0 : !near) ++wrong;
      }
    }
    from += now * size;
    begin += now;
    count -= now;
  }
  return wrong;
}

}  // namespace weft::lab
