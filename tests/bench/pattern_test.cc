#include "bench/pattern.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace weft::bench {
namespace {

using Bytes = std::vector<std::byte>;

TEST(PatternTest, StreamMatchesItself) {
  for (const std::size_t size : {0U, 1U, 7U, 8U, 9U, 4099U}) {
    Bytes data(size);
    fill_stream(data, stream_seed(1, 2, 3));
    EXPECT_EQ(count_wrong(data, stream_seed(1, 2, 3)), 0U);
  }
}

TEST(PatternTest, EveryPoisonedByteIsWrong) {
  Bytes data(4099);
  poison_stream(data, stream_seed(1, 2, 3));
  EXPECT_EQ(count_wrong(data, stream_seed(1, 2, 3)), data.size());
}

TEST(PatternTest, OneFlippedBitIsOneWrongByte) {
  Bytes data(1001);
  fill_stream(data, 5);
  for (const std::size_t place : {0U, 500U, 1000U}) {
    data[place] ^= std::byte{1};
    EXPECT_EQ(count_wrong(data, 5), 1U) << place;
    data[place] ^= std::byte{1};
  }
}

TEST(PatternTest, OtherSourceDestinationOrIterationIsWrong) {
  Bytes data(1024);
  fill_stream(data, stream_seed(1, 2, 3));
  for (const auto seed : {stream_seed(2, 1, 3), stream_seed(1, 3, 2), stream_seed(0, 2, 3), stream_seed(1, 2, 4)}) {
    EXPECT_GT(count_wrong(data, seed), 900U);
  }
}

TEST(PatternTest, SwappedPiecesAreWrong) {
  Bytes data(1024);
  fill_stream(data, 9);
  std::swap_ranges(data.begin(), data.begin() + 512, data.begin() + 512);
  EXPECT_GT(count_wrong(data, 9), 900U);
}

TEST(PatternTest, SumsAreExactInAnyOrder) {
  constexpr int kRanks = 5;
  constexpr std::size_t kCount = 3000;
  std::vector<float> up(kCount);
  std::vector<float> down(kCount);
  std::vector<float> addends(kCount);
  for (int i = 0; i < kRanks; ++i) {
    fill_addends(addends, i, kRanks, 7);
    std::ranges::transform(up, addends, up.begin(), std::plus());
    fill_addends(addends, kRanks - 1 - i, kRanks, 7);
    std::ranges::transform(down, addends, down.begin(), std::plus());
  }
  EXPECT_EQ(count_wrong_sums(up, kRanks, 7), 0U);
  EXPECT_EQ(count_wrong_sums(down, kRanks, 7), 0U);
  EXPECT_GT(count_wrong_sums(up, kRanks, 8), kCount * 9 / 10);
  up[2999] += 1;
  EXPECT_EQ(count_wrong_sums(up, kRanks, 7), 1U);
}

TEST(PatternTest, SumsStayExactOverManyRanks) {
  constexpr int kRanks = 3000;
  std::vector<float> sum(4);
  std::vector<float> addends(4);
  for (int rank = 0; rank < kRanks; ++rank) {
    fill_addends(addends, rank, kRanks, 1);
    std::ranges::transform(sum, addends, sum.begin(), std::plus());
  }
  EXPECT_EQ(count_wrong_sums(sum, kRanks, 1), 0U);
}

TEST(PatternTest, EveryPoisonedSumIsWrong) {
  std::vector<float> data(2000);
  poison_sums(data);
  EXPECT_EQ(count_wrong_sums(data, 2, 0), data.size());
}

}  // namespace
}  // namespace weft::bench
