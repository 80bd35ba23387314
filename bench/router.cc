#include "bench/router.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "bench/pattern.h"

namespace weft::bench {
namespace {

/// Above 0, at most 1.
double unit(std::uint64_t random) { return (static_cast<double>(random >> 11) + 1) * 0x1p-53; }

}  // namespace

Router::Router(int experts, int top_k, double skew, std::uint64_t seed)
    : top_k_(top_k), seed_(seed), shares_(static_cast<std::size_t>(experts)) {
  std::vector<std::size_t> order(shares_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t expert) { return stream_seed(seed, expert, 0); });
  double sum = 0;
  for (std::size_t place = 0; place < order.size(); ++place) {
    const double weight = std::pow(static_cast<double>(place + 1), -skew);
    shares_[order[place]] = weight;
    sum += weight;
  }
  for (double& share : shares_) share /= sum;
}

std::vector<int> Router::route(int rank, int token) const {
  // Each expert waits an exponential time with its share as rate; the first k to come are a draw without replacement
  // in proportion to the shares.
  const std::uint64_t token_seed =
      stream_seed(seed_ + 1, static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(token));
  std::vector<std::pair<double, int>> arrivals;
  arrivals.reserve(shares_.size());
  for (std::size_t expert = 0; expert < shares_.size(); ++expert) {
    const double wait = -std::log(unit(stream_seed(token_seed, expert, 1))) / shares_[expert];
    arrivals.emplace_back(wait, static_cast<int>(expert));
  }
  const auto last = arrivals.begin() + top_k_;
  std::partial_sort(arrivals.begin(), last, arrivals.end());
  std::vector<int> chosen;
  for (auto each = arrivals.begin(); each != last; ++each) chosen.push_back(each->second);
  std::ranges::sort(chosen);
  return chosen;
}

}  // namespace weft::bench
