#include "bench/sizes.h"

#include <gtest/gtest.h>

#include "bench/text.h"

namespace weft::bench {
namespace {

using Sizes = std::vector<std::size_t>;

TEST(SizesTest, ParsesPlainAndSuffixedNumbers) {
  EXPECT_EQ(parse_size("8").value(), 8U);
  EXPECT_EQ(parse_size("64K").value(), 65536U);
  EXPECT_EQ(parse_size("4m").value(), 4194304U);
  EXPECT_EQ(parse_size("2G").value(), std::size_t{2} << 30);
  EXPECT_EQ(parse_size("0").value(), 0U);
}

TEST(SizesTest, RefusesWhatIsNoSizeAndNamesIt) {
  for (const char* bad :
       {"", "K", "-1", "8Q", "8KB", "1.5M", " 8", "8 ", "99999999999999999999", "99999999999999999G"}) {
    const auto size = parse_size(bad);
    ASSERT_FALSE(size) << bad;
    EXPECT_NE(size.error().what.find(text("'%s'", bad)), std::string::npos) << size.error().what;
  }
}

TEST(SizesTest, TextIsShortAndParsesBack) {
  EXPECT_EQ(size_text(8), "8");
  EXPECT_EQ(size_text(1536), "1536");
  EXPECT_EQ(size_text(65536), "64K");
  EXPECT_EQ(size_text(std::size_t{3} << 30), "3G");
  for (const std::size_t bytes : {1U, 1023U, 1024U, 3U << 20U}) EXPECT_EQ(parse_size(size_text(bytes)).value(), bytes);
}

TEST(SizesTest, SeriesMultipliesUpToTheLast) {
  EXPECT_EQ(size_series(8, 64, 2, 0).value(), (Sizes{8, 16, 32, 64}));
  EXPECT_EQ(size_series(8, 100, 4, 0).value(), (Sizes{8, 32}));
  EXPECT_EQ(size_series(8, 8, 2, 0).value(), (Sizes{8}));
}

TEST(SizesTest, SeriesAddsWhereThereIsNoFactor) { EXPECT_EQ(size_series(10, 35, 0, 10).value(), (Sizes{10, 20, 30})); }

TEST(SizesTest, SeriesEndsAtTheLargestSizeThereIs) {
  EXPECT_EQ(size_series(SIZE_MAX / 2 + 1, SIZE_MAX, 2, 0).value(), (Sizes{SIZE_MAX / 2 + 1}));
  EXPECT_EQ(size_series(SIZE_MAX - 1, SIZE_MAX, 0, 5).value(), (Sizes{SIZE_MAX - 1}));
}

TEST(SizesTest, SeriesRefusesWhatCannotBeRight) {
  EXPECT_NE(size_series(0, 8, 2, 0).error().what.find("-b 0"), std::string::npos);
  EXPECT_NE(size_series(1024, 8, 2, 0).error().what.find("-e 8 is below -b 1K"), std::string::npos);
  EXPECT_NE(size_series(8, 64, 1, 0).error().what.find("-f 1"), std::string::npos);
}

}  // namespace
}  // namespace weft::bench
