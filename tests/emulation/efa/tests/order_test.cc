// Knobs that change when and in what order things happen. Counters of the emulator decide, never a clock.
#include <algorithm>
#include <numeric>

#include "tests/emulation/efa/tests/link.h"

namespace weft::emulation::efa {
namespace {

using OrderTest = Link;
INSTANTIATE_TEST_SUITE_P(Fabrics, OrderTest, fabrics(), fabric_name);

constexpr size_t kWrites = 64, kSize = 4096;

TEST_P(OrderTest, NothingIsHeldBackWithoutAKnob) {
  const uint64_t before = from.counters.deferred;
  for (size_t i = 0; i < kWrites; ++i) ASSERT_TRUE(sender.write(i, i * kSize, kSize));
  ASSERT_TRUE(settle(kWrites));
  EXPECT_TRUE(std::ranges::is_sorted(immediates()));
  EXPECT_TRUE(same(sender, receiver, kWrites * kSize));
  EXPECT_EQ(from.counters.deferred, before);
  EXPECT_TRUE(errors().empty());
}

TEST_P(OrderTest, ReorderWindowDeliversAllOutOfOrder) {
  from.knobs.reorder = 16;
  for (size_t i = 0; i < kWrites; ++i) ASSERT_TRUE(sender.write(i, i * kSize, kSize));
  ASSERT_TRUE(settle(kWrites));
  auto seen = immediates();
  EXPECT_FALSE(std::ranges::is_sorted(seen));
  EXPECT_GT(from.counters.reordered, 0u);
  std::ranges::sort(seen);
  std::vector<uint64_t> all(kWrites);
  std::iota(all.begin(), all.end(), uint64_t{0});
  EXPECT_EQ(seen, all) << "each arrives once";
  EXPECT_TRUE(same(sender, receiver, kWrites * kSize));
}

TEST_P(OrderTest, ShuffleBreaksTheOrderWithinAWriteOnly) {
  from.knobs.shuffle = 1;
  ASSERT_TRUE(sender.write(1, 0, 1 << 20));
  ASSERT_TRUE(settle(1));
  EXPECT_EQ(from.counters.shuffled, 1u);
  EXPECT_TRUE(same(sender, receiver, 1 << 20));
}

TEST_P(OrderTest, LatencyDelaysEachWrite) {
  from.knobs.latency_us = 700;
  for (size_t i = 0; i < 8; ++i) ASSERT_TRUE(sender.write(i, i * kSize, kSize));
  ASSERT_TRUE(settle(8));
  EXPECT_GE(from.counters.deferred, 8u);
  EXPECT_EQ(from.counters.delay_ns, from.counters.deferred * 700'000);
}

TEST_P(OrderTest, JitterAddsUpToItsBound) {
  from.knobs.latency_us = 100;
  from.knobs.jitter_us = 300;
  for (size_t i = 0; i < kWrites; ++i) ASSERT_TRUE(sender.write(i, i * kSize, kSize));
  ASSERT_TRUE(settle(kWrites));
  const uint64_t deferred = from.counters.deferred, delay = from.counters.delay_ns;
  EXPECT_GT(delay, deferred * 100'000);
  EXPECT_LE(delay, deferred * 400'000);
  EXPECT_TRUE(same(sender, receiver, kWrites * kSize));
}

TEST_P(OrderTest, BandwidthCapTakesTheLinkForEachByte) {
  const uint64_t bytes_before = from.counters.bytes;
  from.knobs.bandwidth_mbps = 8000;  // a byte a nanosecond
  for (size_t i = 0; i < 8; ++i) ASSERT_TRUE(sender.write(i, i << 18, 1 << 18));
  ASSERT_TRUE(settle(8));
  EXPECT_EQ(from.counters.link_ns, from.counters.bytes - bytes_before);
  EXPECT_GE(from.counters.link_ns, 8u << 18);
  EXPECT_GE(from.counters.delay_ns, from.counters.link_ns) << "the link carries one after the other";
}

TEST_P(OrderTest, DeferredWritesCompleteAfterThePost) {
  from.knobs.defer = 1;
  for (size_t i = 0; i < 8; ++i) ASSERT_TRUE(sender.write(i, i * kSize, kSize));
  ASSERT_TRUE(settle(8));
  EXPECT_GE(from.counters.deferred, 8u);
  EXPECT_TRUE(same(sender, receiver, 8 * kSize));
}

}  // namespace
}  // namespace weft::emulation::efa
