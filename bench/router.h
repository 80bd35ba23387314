// Which experts each token goes to: the gate of a mixture-of-experts model, with skewed popularity.
#pragma once

#include <cstdint>
#include <vector>

namespace weft::bench {

/// Chooses experts the same way on every rank: the choice depends on the seed, the token's rank and its number only.
class Router {
 public:
  /// The popularity of the experts follows Zipf's law with exponent `skew` (0: all alike), in an order drawn from
  /// `seed`. `top_k` must not be above `experts`.
  Router(int experts, int top_k, double skew, std::uint64_t seed);

  /// The `top_k` different experts of a token, ascending.
  std::vector<int> route(int rank, int token) const;

  /// The share of all weight that an expert has; the shares sum to 1.
  const std::vector<double>& shares() const { return shares_; }

 private:
  int top_k_;
  std::uint64_t seed_;
  std::vector<double> shares_;
};

}  // namespace weft::bench
