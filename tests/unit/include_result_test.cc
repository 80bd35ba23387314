#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "weft/result.h"

namespace weft {
namespace {

Result<int> half(int value) {
  if (value % 2 != 0) return fail(Code::kArgument, 7, "odd");
  return value / 2;
}

Result<int> quarter(int value) {
  TRY(const int once, half(value));
  TRY(const int twice, half(once));
  return twice;
}

Result<std::unique_ptr<int>> boxed(bool good) {
  if (!good) return fail(Code::kMissing, "no box");
  return std::make_unique<int>(5);
}

Status check(int value, int& reached) {
  TRY_VOID(half(value));
  ++reached;
  return {};
}

TEST(ResultTest, TryYieldsTheValue) { EXPECT_EQ(quarter(12), 3); }

TEST(ResultTest, TryReturnsTheErrorUnchanged) {
  const auto result = quarter(6);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, Code::kArgument);
  EXPECT_EQ(result.error().number, 7);
  EXPECT_EQ(result.error().what, "odd");
}

TEST(ResultTest, TryMovesWhatCannotBeCopied) {
  const auto open = [](bool good) -> Result<int> {
    TRY(auto box, boxed(good));
    return *box;
  };
  EXPECT_EQ(open(true), 5);
  EXPECT_EQ(open(false).error().code, Code::kMissing);
}

TEST(ResultTest, TryVoidStopsAtTheFirstError) {
  int reached = 0;
  EXPECT_TRUE(check(4, reached));
  EXPECT_EQ(reached, 1);
  EXPECT_FALSE(check(5, reached));
  EXPECT_EQ(reached, 1);
}

TEST(ResultTest, FailWithoutNumberHasNumberZero) {
  const Status status = fail(Code::kTimeout, "late");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().number, 0);
}

TEST(ResultTest, EveryCodeHasItsOwnName) {
  const Code codes[] = {Code::kSystem, Code::kInternal,  Code::kArgument, Code::kUsage,
                        Code::kRemote, Code::kTruncated, Code::kTimeout,  Code::kMissing};
  for (const Code each : codes) {
    EXPECT_STRNE(code_name(each), "unknown error");
    for (const Code other : codes) EXPECT_EQ(std::string(code_name(each)) == code_name(other), each == other);
  }
}

}  // namespace
}  // namespace weft
