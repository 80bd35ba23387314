#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "tests/support/log_capture.h"
#include "weft/log.h"

namespace weft {
namespace {

struct Seen {
  log::Level level;
  std::string file;
  int line;
  std::string text;
};
std::vector<Seen> seen;

void remember(log::Level level, const char* file, int line, const char* text) noexcept {
  seen.push_back({level, file, line, text});
}

class LogTest : public testing::Test {
 protected:
  LogTest() : before_(log::set_sink(&remember)) { seen.clear(); }
  ~LogTest() override { log::set_sink(before_); }

 private:
  log::Sink before_;
};

TEST_F(LogTest, FormatsAndSaysWhere) {
  WEFT_WARN("rail %d device %s", 2, "rdmap3");
  const int line = __LINE__ - 1;
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].level, log::Level::kWarn);
  EXPECT_EQ(seen[0].text, "rail 2 device rdmap3");
  EXPECT_EQ(seen[0].line, line);
  EXPECT_NE(seen[0].file.find("include_log_test.cc"), std::string::npos);
}

TEST_F(LogTest, InfoHasItsOwnLevel) {
  WEFT_INFO("hello");
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].level, log::Level::kInfo);
}

TEST_F(LogTest, CutsLongLines) {
  const std::string longer(5000, 'x');
  WEFT_INFO("%s", longer.c_str());
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].text, std::string(1023, 'x'));
}

TEST_F(LogTest, SetSinkReturnsTheOldOneAndNullMeansTheDefault) {
  EXPECT_EQ(log::set_sink(nullptr), &remember);
  EXPECT_EQ(log::set_sink(&remember), &log::default_sink);
}

TEST_F(LogTest, DefaultSinkPrintsWarningsOnly) {
  testing::internal::CaptureStderr();
  log::default_sink(log::Level::kInfo, "file", 1, "quiet");
  log::default_sink(log::Level::kWarn, "file", 1, "loud");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "weft: loud\n");
}

TEST(LogThreadsTest, LinesOfSeveralThreadsStayWhole) {
  constexpr int kThreads = 4;
  constexpr int kLines = 100;
  {
    std::vector<std::jthread> threads;
    threads.reserve(kThreads);
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([t] {
        for (int i = 0; i < kLines; ++i) WEFT_INFO("thread %d line %d end", t, i);
      });
    }
  }
  const auto lines = test::LogCapture::current().lines();
  ASSERT_EQ(lines.size(), static_cast<std::size_t>(kThreads * kLines));
  for (const auto& line : lines) EXPECT_TRUE(line.text.starts_with("thread ") && line.text.ends_with(" end"));
}

}  // namespace
}  // namespace weft
