// Runs in which something goes wrong: they end soon, with an error status, and name the rank.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <thread>

#include "bench/socket.h"
#include "tests/bench/program.h"

namespace weft::bench {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> fault(const char* rank, const char* what) {
  return {"WEFT_TEST_NET_RANK=" + std::string(rank), "WEFT_TEST_NET_" + std::string(what)};
}

/// A word in the command line by which the processes of this test can be found.
std::string marker() {
  return (std::filesystem::temp_directory_path() / ("weft-bench-marker-" + std::to_string(getpid()))).string();
}

bool wait_until(const std::function<bool()>& condition) {
  const auto deadline = Clock::now() + 10s;
  while (!condition()) {
    if (Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(20ms);
  }
  return true;
}

TEST(FailureTest, AFlippedBitIsCounted) {
  const Outcome outcome = run_bench({"all-to-all", "--ranks", "3", "-b", "300", "-e", "300", "-n", "1", "-w", "0"},
                                    fault("2", "CORRUPT_AT=3"));
  EXPECT_EQ(outcome.status, 3);
  EXPECT_TRUE(outcome.says("# Out of bounds values : 1 FAILED")) << outcome.out;
  EXPECT_TRUE(outcome.says("# rank 2 received 1 wrong elements"));
}

TEST(FailureTest, AFlippedBitSpreadsThroughTheSum) {
  const Outcome outcome = run_bench({"all-reduce", "--ranks", "3", "-b", "1K", "-e", "1K", "-n", "1", "-w", "0"},
                                    fault("1", "CORRUPT_AT=5"));
  EXPECT_EQ(outcome.status, 3);
  EXPECT_TRUE(outcome.says("FAILED")) << outcome.out;
}

TEST(FailureTest, AMessageThatNeverReachesItsBufferIsCounted) {
  for (const char* command : {"all-reduce", "all-to-all"}) {
    const Outcome outcome = run_bench({command, "-b", "64", "-e", "64", "-n", "1", "-w", "0"}, fault("1", "DROP_AT=1"));
    EXPECT_EQ(outcome.status, 3) << command;
    EXPECT_TRUE(outcome.says("FAILED")) << outcome.out;
  }
  const Outcome moe =
      run_bench({"moe", "--tokens", "8", "--hidden", "64", "-n", "1", "-w", "0"}, fault("0", "DROP_AT=2"));
  EXPECT_EQ(moe.status, 3);
  const Outcome p2p = run_bench({"p2p", "-b", "8", "-e", "8", "-n", "1", "-w", "1", "--rounds", "1", "--connects", "0"},
                                fault("0", "CORRUPT_AT=5"));
  EXPECT_EQ(p2p.status, 3) << p2p.out;
}

TEST(FailureTest, AWrongSizeIsAnError) {
  const Outcome outcome = run_bench({"all-reduce", "--ranks", "3", "-b", "1K", "-e", "1K"}, fault("1", "SHORTEN_AT=7"));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(outcome.complains("rank 1: receive from rank 0 failed: ")) << outcome.err;
  EXPECT_TRUE(outcome.complains("bytes arrived where")) << outcome.err;
}

TEST(FailureTest, AFailedCallEndsTheRunAndNamesTheRank) {
  const Outcome outcome = run_bench({"all-reduce", "--ranks", "4"}, fault("1", "FAIL_AT=30"));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(outcome.complains("rank 1: send to rank 2 failed: isend says system error")) << outcome.err;
  EXPECT_TRUE(outcome.complains("[1] WARN test net: told to fail")) << outcome.err;
  EXPECT_LT(outcome.seconds, 10);
}

TEST(FailureTest, AKilledRankEndsTheOthersWithItsName) {
  for (const char* victim : {"0", "2"}) {
    const Outcome outcome = run_bench({"all-reduce", "--ranks", "4"}, fault(victim, "KILL_AT=200"));
    const std::string name = "rank " + std::string(victim);
    EXPECT_EQ(outcome.status, 1);
    EXPECT_TRUE(outcome.complains("weft-bench: " + name + " (pid ")) << outcome.err;
    EXPECT_TRUE(outcome.complains("was killed by signal 9")) << outcome.err;
    EXPECT_TRUE(outcome.complains("receive from " + name + " failed") ||
                outcome.complains("send to " + name + " failed"))
        << outcome.err;
    EXPECT_LT(outcome.seconds, 10);
  }
}

TEST(FailureTest, ADeadRankIsNamedWhereThePluginDoesNotNotice) {
  auto environment = fault("2", "KILL_AT=50");
  environment.emplace_back("WEFT_TEST_NET_DEAF=1");
  const Outcome outcome = run_bench({"all-reduce", "--ranks", "4"}, environment);
  EXPECT_EQ(outcome.status, 1);
  // Rank 0 has no connection to rank 2; ranks 1 and 3 have, and wait some seconds for the plugin's own words.
  EXPECT_TRUE(outcome.complains("rank 0: receive from rank 3 stopped: rank 2 (pid ")) << outcome.err;
  EXPECT_TRUE(outcome.complains("rank 3: receive from rank 2 stopped: rank 2 (pid ")) << outcome.err;
  EXPECT_FALSE(outcome.complains("killed\n")) << outcome.err;
  EXPECT_LT(outcome.seconds, 10);
}

TEST(FailureTest, AHangIsAnErrorAfterTheTimeLimit) {
  const Outcome outcome = run_bench({"all-reduce", "--ranks", "3", "--timeout", "2"}, fault("1", "HANG_AT=20"));
  EXPECT_EQ(outcome.status, 1);
  // In a ring all wait; whoever is the first to say so ends the others.
  EXPECT_TRUE(outcome.complains("nothing moved for 2 s: receive from rank ")) << outcome.err;
  EXPECT_LT(outcome.seconds, 10);
}

TEST(FailureTest, APluginThatCannotStartIsReported) {
  const Outcome no_device = run_bench({"all-reduce"}, {"WEFT_TEST_NET_NO_DEVICE=1"});
  EXPECT_EQ(no_device.status, 1);
  EXPECT_TRUE(no_device.complains("plugin Test offers no device")) << no_device.err;
  const Outcome no_init = run_bench({"all-reduce"}, fault("1", "FAIL_INIT=1"));
  EXPECT_EQ(no_init.status, 1);
  EXPECT_TRUE(no_init.complains("rank 1: plugin Test: init failed: system error")) << no_init.err;
  EXPECT_TRUE(no_init.complains("rank 0: rank 1 failed: ")) << no_init.err;
}

TEST(FailureTest, ARankThatNeverArrivesIsNamed) {
  const Outcome outcome =
      run_bench({"all-reduce", "--rank", "0", "--size", "3", "--rendezvous", free_rendezvous(), "--timeout", "1"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(outcome.complains("rank 0: ranks 1, 2 did not arrive within 1 s")) << outcome.err;
  EXPECT_LT(outcome.seconds, 5);
}

TEST(FailureTest, APortInUseIsNamed) {
  const Descriptor held = listen_on({"127.0.0.1", 0}).value();
  const std::string where = "127.0.0.1:" + std::to_string(port_of(held.get()));
  const Outcome outcome = run_bench({"all-reduce", "--rank", "0", "--size", "2", "--rendezvous", where});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(outcome.complains("Address already in use")) << outcome.err;
}

TEST(FailureTest, InterruptionEndsAllRanks) {
  for (const int signal : {SIGINT, SIGTERM}) {
    Program program({"all-reduce", "--plugin", test_net(), "-n", "1000000", "--json", marker()}, {});
    ASSERT_TRUE(wait_until([] { return processes_with(marker()).size() == 3; }));
    program.send_signal(signal);
    const Outcome outcome = program.wait();
    EXPECT_EQ(outcome.status, 130);
    EXPECT_LT(outcome.seconds, 15);
    EXPECT_TRUE(processes_with(marker()).empty());
  }
  unlink(marker().c_str());
}

TEST(FailureTest, NoRankOutlivesItsParent) {
  Program program({"all-reduce", "--plugin", test_net(), "-n", "1000000", "--json", marker()}, {});
  ASSERT_TRUE(wait_until([] { return processes_with(marker()).size() == 3; }));
  program.send_signal(SIGKILL);
  EXPECT_EQ(program.wait().status, 1009);
  EXPECT_TRUE(wait_until([] { return processes_with(marker()).empty(); }));
  unlink(marker().c_str());
}

}  // namespace
}  // namespace weft::bench
