#include "bench/table.h"

#include <gtest/gtest.h>

#include <sstream>

#include "bench/bandwidth.h"

namespace weft::bench {
namespace {

Shape all_reduce_shape() {
  return {.label = {},
          .bytes = 1'000'000,
          .count = 250'000,
          .type = "float",
          .redop = "sum",
          .algorithm_bytes = 1e6,
          .wire_bytes = 1e6 * all_reduce_bus_factor(4)};
}

std::vector<std::string> words(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> result;
  for (std::string word; in >> word;) result.push_back(word);
  return result;
}

TEST(TableTest, RowHasNcclTestsColumns) {
  const Row row{.shape = all_reduce_shape(), .measured = {{.seconds = {0.002, 0.001, 0.0005}, .wrong = 3}}};
  const std::vector<std::string> expected = {"1000000", "250000", "float", "sum", "1000.0", "1.000", "1.500", "3"};
  EXPECT_EQ(words(table_row(row, false)), expected);
}

TEST(TableTest, HeaderColumnsStandAboveTheRows) {
  const Row row{.shape = all_reduce_shape(), .measured = {{.seconds = {0.001}}, {.seconds = {0.002}}}};
  const std::string header = table_header({"A", "B"}, false);
  const std::string titles =
      header.substr(header.find('\n') + 1, header.find('\n', header.find('\n') + 1) - header.find('\n') - 1);
  const std::string line = table_row(row, false);
  EXPECT_EQ(titles.size() + 1, line.size());
  for (const char* title : {"size", "count", "type", "redop", "time", "algbw", "busbw", "#wrong", "ratio"}) {
    const std::size_t end = titles.find(title) + std::string(title).size();
    // Right-aligned: each value ends where its title ends.
    EXPECT_NE(line[end - 1], ' ') << title;
    EXPECT_TRUE(end == titles.size() || line[end] == ' ') << title;
  }
}

TEST(TableTest, RatioSaysHowMuchFasterTheFirstIs) {
  const Row row{.shape = all_reduce_shape(), .measured = {{.seconds = {0.001, 0.002}}, {.seconds = {0.002, 0.004}}}};
  EXPECT_EQ(words(table_row(row, false)).back(), "2.000");
}

TEST(TableTest, LabelsHaveAColumn) {
  Row row{.shape = all_reduce_shape(), .measured = {{.seconds = {0.001}}}};
  row.shape.label = "combine";
  EXPECT_EQ(words(table_row(row, true))[4], "combine");
  EXPECT_NE(table_header({"A"}, true).find("phase"), std::string::npos);
}

TEST(TableTest, TimesKeepSevenColumns) {
  EXPECT_EQ(time_text(1.234e-6), "   1.23");
  EXPECT_EQ(time_text(123.44e-6), "  123.4");
  EXPECT_EQ(time_text(0.0123456), "  12346");
}

}  // namespace
}  // namespace weft::bench
