#include "plugin/boundary.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "plugin/log_sink.h"
#include "tests/plugin/nccl_log.h"
#include "weft/log.h"

namespace weft::plugin {
namespace {

class BoundaryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    test::clear_log();
    set_nccl_logger(test::capturing_logger());
  }
  void TearDown() override {
    set_nccl_logger(nullptr);
    test::expect_no_other_warnings();
  }
};

TEST_F(BoundaryTest, SuccessIsSilent) {
  EXPECT_EQ(guard("call", [] { return Status{}; }), nccl::ncclSuccess);
  EXPECT_TRUE(test::captured_log().empty());
}

TEST_F(BoundaryTest, EveryCodeHasAResultThatOldNcclKnows) {
  constexpr int kOldestResults = 8;  // ncclNumResults before ncclTimeout
  for (const Code code : {Code::kSystem, Code::kInternal, Code::kArgument, Code::kUsage, Code::kRemote,
                          Code::kTruncated, Code::kTimeout, Code::kMissing}) {
    const auto result = guard("call", [code]() -> Status { return fail(code, "the reason"); });
    EXPECT_EQ(result, to_nccl(code));
    EXPECT_NE(result, nccl::ncclSuccess) << code_name(code);
    EXPECT_NE(result, nccl::ncclInProgress) << code_name(code);
    EXPECT_LT(result, kOldestResults) << code_name(code);
    test::expect_warning("call failed: the reason");
  }
}

TEST_F(BoundaryTest, WhatIsLoggedAlreadyIsNotSaidTwice) {
  Error error{Code::kRemote, 0, "the peer is gone"};
  error.logged = true;
  EXPECT_EQ(guard("call", [&]() -> Status { return std::unexpected(error); }), nccl::ncclRemoteError);
  EXPECT_TRUE(test::captured_log().empty());
}

TEST_F(BoundaryTest, NoExceptionPasses) {
  EXPECT_EQ(guard("call", []() -> Status { throw std::bad_alloc(); }), nccl::ncclSystemError);
  test::expect_warning("call failed: out of memory");
  EXPECT_EQ(guard("call", []() -> Status { throw std::runtime_error("surprise"); }), nccl::ncclInternalError);
  test::expect_warning("call failed: unexpected exception: surprise");
  EXPECT_EQ(guard("call", []() -> Status { throw 7; }), nccl::ncclInternalError);
  test::expect_warning("call failed: unexpected exception");
}

TEST_F(BoundaryTest, LevelsAndSubsystemsAreNccls) {
  WEFT_WARN("a %d", 1);
  WEFT_INFO("b");
  const auto lines = test::captured_log();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].level, nccl::NCCL_LOG_WARN);
  EXPECT_EQ(lines[0].text, "NET/Weft: a 1");
  EXPECT_EQ(lines[1].level, nccl::NCCL_LOG_INFO);
  EXPECT_EQ(lines[1].flags, static_cast<unsigned long>(nccl::NCCL_INIT | nccl::NCCL_NET));
  test::expect_warning("a 1");
}

TEST_F(BoundaryTest, PercentSignsInTextsAreText) {
  WEFT_INFO("%s", "100%s %n");
  EXPECT_EQ(test::captured_log().at(0).text, "NET/Weft: 100%s %n");
}

}  // namespace
}  // namespace weft::plugin
