#include "bench/bandwidth.h"

#include <gtest/gtest.h>

namespace weft::bench {
namespace {

TEST(BandwidthTest, BusFactorsAreThoseOfNcclTests) {
  EXPECT_DOUBLE_EQ(all_reduce_bus_factor(2), 1.0);
  EXPECT_DOUBLE_EQ(all_reduce_bus_factor(8), 1.75);
  EXPECT_DOUBLE_EQ(all_to_all_bus_factor(2), 0.5);
  EXPECT_DOUBLE_EQ(all_to_all_bus_factor(8), 0.875);
}

TEST(BandwidthTest, GigabytesAreDecimal) {
  EXPECT_DOUBLE_EQ(gigabytes_per_second(2e9, 0.5), 4.0);
  EXPECT_DOUBLE_EQ(gigabytes_per_second(1, 0), 0.0);
}

TEST(BandwidthTest, MedianIsTheMiddleOrTheMeanOfTwo) {
  EXPECT_DOUBLE_EQ(median({}), 0);
  EXPECT_DOUBLE_EQ(median({7}), 7);
  EXPECT_DOUBLE_EQ(median({9, 1, 5}), 5);
  EXPECT_DOUBLE_EQ(median({4, 1, 2, 100}), 3);
  EXPECT_DOUBLE_EQ(minimum({4, 1, 2}), 1);
}

TEST(BandwidthTest, RatioIsTakenRoundByRound) {
  // Medians alone would say 10 / 20.
  EXPECT_DOUBLE_EQ(median_ratio({10, 40, 9}, {5, 20, 30}), 2);
  EXPECT_DOUBLE_EQ(median_ratio({1, 1}, {0, 4}), 0.25);
}

}  // namespace
}  // namespace weft::bench
