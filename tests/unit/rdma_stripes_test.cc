// Properties of the striping, over many sizes, paths and starts.
#include "transports/rdma/stripes.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace weft::rdma {
namespace {

/// Sizes around everything that could matter, and random ones.
std::vector<std::size_t> sizes() {
  std::vector<std::size_t> list = {0, 1, 8, 127, 128, 129, 4095, 4096, (1UL << 30) - 1, 1UL << 30};
  for (std::size_t i = 1; i <= 9; ++i) {
    for (const int step : {-129, -128, -1, 0, 1, 128, 129}) {
      list.push_back(i * kMinStripeBytes + static_cast<std::size_t>(step));
    }
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 200; ++i) list.push_back(random() % (4UL << 20));
  return list;
}

class StripesTest : public testing::TestWithParam<int> {};

TEST_P(StripesTest, EveryByteTravelsOnceOnAPathThatIsUp) {
  const auto up = static_cast<std::uint8_t>(GetParam());
  for (const std::size_t size : sizes()) {
    for (std::uint8_t last = 0; last < kMaxRails; ++last) {
      SCOPED_TRACE(testing::Message() << size << " bytes, last " << int{last});
      const StripePlan plan = plan_stripes(size, up, last);
      ASSERT_GE(plan.count, 1);
      ASSERT_LE(plan.count, std::popcount(up));
      std::size_t next = 0;
      std::uint8_t used = 0;
      for (std::uint8_t i = 0; i < plan.count; ++i) {
        const Stripe stripe = plan.stripe(i, size);
        EXPECT_EQ(stripe.offset, next);
        next += stripe.size;
        const auto bit = static_cast<std::uint8_t>(1U << stripe.path);
        EXPECT_NE(up & bit, 0) << "path " << int{stripe.path} << " is down";
        EXPECT_EQ(used & bit, 0) << "path " << int{stripe.path} << " twice";
        used |= bit;
        EXPECT_TRUE(i + 1 == plan.count || stripe.size % kStripeAlignment == 0);
        EXPECT_TRUE(plan.count == 1 || stripe.size > 0);
      }
      EXPECT_EQ(next, size);
      if (HasFailure()) return;
    }
  }
}

TEST_P(StripesTest, StripesAreNoShorterThanPaysAndAboutEqual) {
  const auto up = static_cast<std::uint8_t>(GetParam());
  for (const std::size_t size : sizes()) {
    const StripePlan plan = plan_stripes(size, up, 0);
    if (plan.count == 1) continue;
    EXPECT_GE(size / plan.count, kMinStripeBytes) << size;
    EXPECT_LT(plan.stripe(0, size).size - plan.stripe(plan.count - 1, size).size, plan.count * kStripeAlignment)
        << size;
  }
}

TEST_P(StripesTest, SuccessiveShortMessagesTakeAllPathsInTurn) {
  const auto up = static_cast<std::uint8_t>(GetParam());
  std::uint8_t used = 0;
  std::uint8_t last = kMaxRails - 1;
  for (int i = 0; i < std::popcount(up); ++i) {
    last = plan_stripes(8, up, last).paths[0];
    used |= static_cast<std::uint8_t>(1U << last);
  }
  EXPECT_EQ(used, up);
}

INSTANTIATE_TEST_SUITE_P(Up, StripesTest,
                         testing::Values(0b1, 0b10, 0b11, 0b101, 0b1111, 0b1110, 0b1011, 0b10000000, 0b10101010, 0xff));

TEST(StripesTest, NoPathNoStripe) { EXPECT_EQ(plan_stripes(8, 0, 3).count, 0); }

TEST(StripesTest, NeverMoreThanAskedFor) {
  EXPECT_EQ(plan_stripes(64 * kMinStripeBytes, 0xff, 0, 7).count, 7);
  EXPECT_EQ(plan_stripes(64 * kMinStripeBytes, 0xff, 0, 1).count, 1);
}

}  // namespace
}  // namespace weft::rdma
