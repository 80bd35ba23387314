#include "bench/router.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace weft::bench {
namespace {

std::vector<int> load(const Router& router, int experts, int tokens) {
  std::vector<int> count(static_cast<std::size_t>(experts));
  for (int token = 0; token < tokens; ++token) {
    for (const int expert : router.route(0, token)) ++count[static_cast<std::size_t>(expert)];
  }
  return count;
}

TEST(RouterTest, ChoosesDifferentExpertsThatExist) {
  const Router router(16, 4, 1.2, 7);
  for (int token = 0; token < 200; ++token) {
    const std::vector<int> chosen = router.route(3, token);
    ASSERT_EQ(chosen.size(), 4U);
    EXPECT_TRUE(std::ranges::is_sorted(chosen));
    EXPECT_EQ(std::ranges::adjacent_find(chosen), chosen.end());
    EXPECT_GE(chosen.front(), 0);
    EXPECT_LT(chosen.back(), 16);
  }
}

TEST(RouterTest, AllExpertsAreChosenWhereAllAreWanted) {
  EXPECT_EQ(Router(4, 4, 3.0, 1).route(0, 0), (std::vector<int>{0, 1, 2, 3}));
}

TEST(RouterTest, DependsOnSeedRankAndTokenOnly) {
  const Router one(64, 8, 0.8, 5);
  const Router same(64, 8, 0.8, 5);
  const Router other(64, 8, 0.8, 6);
  EXPECT_EQ(one.route(2, 9), same.route(2, 9));
  EXPECT_NE(one.route(2, 9), other.route(2, 9));
  EXPECT_NE(one.route(2, 9), one.route(3, 9));
  EXPECT_NE(one.route(2, 9), one.route(2, 10));
}

TEST(RouterTest, SharesFollowZipfsLaw) {
  std::vector<double> shares = Router(8, 1, 1.0, 3).shares();
  EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1, 1e-12);
  std::ranges::sort(shares, std::greater());
  for (std::size_t i = 0; i < shares.size(); ++i) EXPECT_NEAR(shares[i], shares[0] / static_cast<double>(i + 1), 1e-12);
}

TEST(RouterTest, LoadFollowsTheShares) {
  constexpr int kTokens = 20000;
  const Router router(8, 1, 1.0, 3);
  const std::vector<int> count = load(router, 8, kTokens);
  for (std::size_t expert = 0; expert < count.size(); ++expert) {
    EXPECT_NEAR(count[expert], router.shares()[expert] * kTokens, 0.02 * kTokens);
  }
}

TEST(RouterTest, NoSkewMeansEvenLoad) {
  for (const int count : load(Router(8, 2, 0, 3), 8, 8000)) EXPECT_NEAR(count, 2000, 200);
}

}  // namespace
}  // namespace weft::bench
