// weft-bench with Weft itself, over a real provider between real processes. In the sanitizers' builds these are the
// runs that show what they think of the whole.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/bench/program.h"
#include "tests/support/sanitizers.h"

namespace weft::bench {
namespace {

using namespace std::chrono_literals;

/// Eight ranks; two where every access is watched by the thread sanitizer, which is too slow for more.
#if defined(__SANITIZE_THREAD__)
constexpr const char* kRanks = "2";
#else
constexpr const char* kRanks = "8";
#endif

Outcome run(std::vector<std::string> arguments) {
  // A whole table takes its time under a sanitizer, and ranks that wait for a core are not stuck.
  return Program(std::move(arguments), {"WEFT_PROVIDER=tcp;ofi_rxm", "WEFT_INTERFACES=lo",
                                        "LSAN_OPTIONS=print_suppressions=0:suppressions=" WEFT_TEST_LSAN_SUPPRESSIONS})
      .wait(400s);
}

class WeftPatternTest : public testing::TestWithParam<const char*> {};

TEST_P(WeftPatternTest, MovesEverySizeRight) {
  const Outcome outcome =
      run({GetParam(), "--ranks", kRanks, "-b", "8", "-e", "4M", "-f", "2", "-n", "2", "-w", "0", "--timeout", "120"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(outcome.says("# Out of bounds values : 0 OK")) << outcome.out;
  EXPECT_FALSE(outcome.complains("Sanitizer")) << outcome.err;
}

TEST_P(WeftPatternTest, MovesEverySizeRightByRdmaToo) {
  setenv("WEFT_PROTOCOL", "rdma", 1);
  const Outcome outcome =
      run({GetParam(), "--ranks", kRanks, "-b", "8", "-e", "4M", "-f", "2", "-n", "2", "-w", "0", "--timeout", "120"});
  unsetenv("WEFT_PROTOCOL");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(outcome.says("# Out of bounds values : 0 OK")) << outcome.out;
  EXPECT_FALSE(outcome.complains("Sanitizer")) << outcome.err;
}

TEST(WeftTest, BareWritesAreMeasuredBesideTheRdmaProtocol) {
  setenv("WEFT_PROTOCOL", "rdma", 1);
  const Outcome outcome = run({"p2p", "--raw-write", "-b", "8", "-e", "64K", "-f", "8192", "-n", "20", "--rounds", "1",
                               "--connects", "2", "--timeout", "120"});
  unsetenv("WEFT_PROTOCOL");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(outcome.says("(writes with immediate data)")) << outcome.out;
  EXPECT_TRUE(outcome.says("# Out of bounds values : 0 OK")) << outcome.out;
}

INSTANTIATE_TEST_SUITE_P(Patterns, WeftPatternTest, testing::Values("all-reduce", "all-to-all"),
                         [](const auto& info) { return std::string(info.param) == "all-reduce" ? "Ring" : "Pairs"; });

TEST(WeftFailureTest, AKilledRankEndsTheOthersWhichNameIt) {
  // The flag is given only to find the processes.
  const std::string marker =
      (std::filesystem::temp_directory_path() / ("weft-bench-killed-" + std::to_string(getpid()))).string();
  Program program({"all-reduce", "--ranks", "4", "-b", "1M", "-e", "1M", "-n", "1000000", "--json", marker},
                  {"WEFT_PROVIDER=tcp;ofi_rxm", "WEFT_INTERFACES=lo", "NCCL_DEBUG=WARN"});
  std::vector<pid_t> ranks;
  const std::string third("--rank\0003\000", 9);
  for (int tries = 0; tries < 500 && ranks.empty(); ++tries) {
    std::this_thread::sleep_for(20ms);
    for (const pid_t pid : processes_with(third)) {
      for (const pid_t ours : processes_with(marker)) {
        if (pid == ours) ranks.push_back(pid);
      }
    }
  }
  ASSERT_EQ(ranks.size(), 1U);
  std::this_thread::sleep_for(2s);  // into the iterations
  const auto killed = std::chrono::steady_clock::now();
  kill(ranks[0], SIGKILL);
  const Outcome outcome = program.wait();
  const auto took = std::chrono::steady_clock::now() - killed;
  unlink(marker.c_str());
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(outcome.complains("rank 3 (pid " + std::to_string(ranks[0]) + ") was killed by signal 9")) << outcome.err;
  // The plugin sees that the peer is gone, and so does the connection between the ranks: who sees it first speaks.
  EXPECT_TRUE(outcome.complains(" pid " + std::to_string(ranks[0]) + " (127.0.0.1:") ||
              outcome.complains("rank 3 (pid " + std::to_string(ranks[0]) + " on "))
      << outcome.err;
  if (!test::kSanitized) {
    EXPECT_LT(took, 10s);
  }
}

}  // namespace
}  // namespace weft::bench
