// Bandwidths and medians: nccl-tests' formulas.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace weft::bench {

/// Bytes that each rank must move per byte of the buffer. `ranks` must be at least 1.
constexpr double all_reduce_bus_factor(int ranks) { return 2.0 * (ranks - 1) / ranks; }
constexpr double all_to_all_bus_factor(int ranks) { return 1.0 * (ranks - 1) / ranks; }

/// GB/s, with G = 10^9, as nccl-tests has it. 0 where no time has passed.
constexpr double gigabytes_per_second(double bytes, double seconds) { return seconds > 0 ? bytes / seconds / 1e9 : 0; }

/// The middle value, or the mean of the two in the middle; 0 of nothing.
inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 != 0 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

inline double minimum(const std::vector<double>& values) {
  return values.empty() ? 0 : *std::ranges::min_element(values);
}

/// The median of a[i] / b[i]: what disturbs both halves of a round at once cancels out.
inline double median_ratio(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (b[i] > 0) ratios.push_back(a[i] / b[i]);
  }
  return median(std::move(ratios));
}

}  // namespace weft::bench
