// weft-bench as a whole, over the test plugin: everything that is to go well.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/bench/program.h"

namespace weft::bench {
namespace {

/// Lines of the table: those that are no comments.
int row_count(const std::string& out) {
  std::istringstream in(out);
  int count = 0;
  for (std::string line; std::getline(in, line);) count += !line.empty() && line[0] != '#' ? 1 : 0;
  return count;
}

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void expect_all_well(const Outcome& outcome, int rows) {
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(row_count(outcome.out), rows) << outcome.out;
  EXPECT_TRUE(outcome.says("# Out of bounds values : 0 OK")) << outcome.out;
}

TEST(ProgramTest, AllReduceOfManySizesAndRanks) {
  for (const char* ranks : {"2", "3", "5"}) {
    // Chunks far smaller than slices, so that the pipeline is deep and slices end in short chunks.
    expect_all_well(
        run_bench({"all-reduce", "--ranks", ranks, "-e", "64K", "-n", "2", "-w", "0", "-c", "2", "--chunk", "1000"}),
        14);
  }
}

TEST(ProgramTest, AllReduceOverSeveralChannels) {
  expect_all_well(run_bench({"all-reduce", "--ranks", "3", "-b", "100K", "-e", "100K", "-n", "2", "--chunk", "1K",
                             "--channels", "3", "--depth", "2"}),
                  1);
}

TEST(ProgramTest, AllToAllOfManySizes) {
  expect_all_well(run_bench({"all-to-all", "--ranks", "4", "-e", "64K", "-n", "2", "--chunk", "1000"}), 14);
}

TEST(ProgramTest, StepsBetweenSizes) {
  expect_all_well(run_bench({"all-to-all", "-b", "100", "-e", "500", "-i", "200", "-n", "1"}), 3);
}

TEST(ProgramTest, MoeDispatchesAndCombines) {
  const Outcome outcome = run_bench({"moe", "--ranks", "4", "--tokens", "40", "--hidden", "1000", "--experts", "8",
                                     "--top-k", "3", "--zipf", "1.5", "-n", "2", "-c", "2"});
  expect_all_well(outcome, 2);
  EXPECT_TRUE(outcome.says("dispatch"));
  EXPECT_TRUE(outcome.says("combine"));
}

TEST(ProgramTest, MoeWhereSomeRanksGetNothing) {
  expect_all_well(
      run_bench({"moe", "--ranks", "4", "--tokens", "1", "--experts", "64", "--top-k", "1", "--zipf", "10", "-n", "1"}),
      2);
}

// The test plugin moves what has arrived only when its receive is asked about, and sockets hold less than this.
TEST(ProgramTest, PointToPointSwapsMoreThanSocketsHold) {
  const Outcome outcome =
      run_bench({"p2p", "-b", "4M", "-e", "4M", "-n", "4", "--rounds", "1", "--connects", "0", "--timeout", "20"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(outcome.says("# Out of bounds values : 0 OK")) << outcome.out;
}

TEST(ProgramTest, PointToPoint) {
  const Outcome outcome = run_bench({"p2p", "-e", "4K", "-f", "8", "-n", "20", "--rounds", "3", "--connects", "3"});
  expect_all_well(outcome, 4);
  for (const char* figure : {"8 B latency", "4K bandwidth, 8 in flight", "8 B message rate", "median of 3, slowest"}) {
    EXPECT_TRUE(outcome.says(figure)) << figure << "\n" << outcome.out;
  }
}

TEST(ProgramTest, PointToPointWithGroupedReceives) {
  expect_all_well(
      run_bench({"p2p", "-e", "1K", "-f", "8", "-n", "10", "--rounds", "1", "--connects", "0", "--sub-receives", "8"}),
      3);
}

TEST(ProgramTest, EveryVersionOfTheAbi) {
  for (const char* abi : {"v8", "v9", "v10", "v11", "v12"}) {
    const Outcome outcome = run_bench({"all-reduce", "-e", "1K", "-n", "1", "--abi", abi});
    expect_all_well(outcome, 8);
    EXPECT_TRUE(outcome.says("plugin Test (" + std::string(abi) + ",")) << outcome.out;
  }
}

TEST(ProgramTest, NewestVersionIsTakenFirst) {
  EXPECT_TRUE(run_bench({"all-to-all", "-e", "8"}).says("plugin Test (v12,"));
}

TEST(ProgramTest, AgainIsTriedAgain) {
  expect_all_well(
      run_bench({"all-reduce", "--ranks", "3", "-e", "16K", "-n", "2", "--chunk", "512"}, {"WEFT_TEST_NET_BUSY=1"}),
      12);
}

TEST(ProgramTest, ComparesTwoPluginsAndWritesFiles) {
  const std::filesystem::path folder = testing::TempDir();
  const std::string json = folder / "weft-bench-test.json";
  const Outcome outcome =
      run_bench({"all-reduce", "-e", "1K", "-n", "2", "--rounds", "3", "--compare", test_net(), "--json", json});
  expect_all_well(outcome, 8);
  EXPECT_TRUE(outcome.says("ratio"));
  const auto report = nlohmann::json::parse(text_of(json), nullptr, false);
  ASSERT_FALSE(report.is_discarded());
  EXPECT_EQ(report["benchmark"], "all-reduce");
  EXPECT_EQ(report["ranks"], 2);
  EXPECT_EQ(report["wrong"], 0);
  EXPECT_EQ(report["plugins"].size(), 2U);
  ASSERT_EQ(report["rows"].size(), 8U);
  EXPECT_EQ(report["rows"][3]["size_bytes"], 64);
  EXPECT_EQ(report["rows"][3]["results"].size(), 2U);
  EXPECT_EQ(report["rows"][3]["results"][1]["rounds_us"].size(), 3U);
  EXPECT_GT(report["rows"][3]["ratio"].get<double>(), 0);
  // The line as typed, without what the parent adds for its ranks.
  EXPECT_TRUE(report["command_line"].get<std::string>().ends_with("--plugin " + test_net()));
  std::filesystem::remove(json);
}

TEST(ProgramTest, PluginLogCarriesRankAndLevel) {
  const std::vector<std::string> arguments = {"all-to-all", "-e", "8", "-n", "1"};
  EXPECT_TRUE(run_bench(arguments, {"NCCL_DEBUG=INFO"}).complains("[1] INFO test net: started\n"));
  EXPECT_FALSE(run_bench(arguments, {"NCCL_DEBUG=WARN"}).complains("started"));
  auto with_flag = arguments;
  with_flag.insert(with_flag.end(), {"--debug", "info"});
  EXPECT_TRUE(run_bench(with_flag, {"NCCL_DEBUG=WARN"}).complains("[0] INFO test net: started\n"));
}

TEST(ProgramTest, RanksStartedByHandMeet) {
  // The way of MPI, Slurm and torchrun: separate processes, told by their environment.
  const std::string where = free_rendezvous();
  const std::string port = "MASTER_PORT=" + where.substr(where.find(':') + 1);
  const auto environment = [&](const char* rank) {
    return std::vector<std::string>{rank, "WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1", port};
  };
  const std::vector<std::string> arguments = {"all-reduce", "-e", "1K", "-n", "1", "--plugin", test_net()};
  Program one(arguments, environment("RANK=1"));
  Program zero(arguments, environment("RANK=0"));
  expect_all_well(zero.wait(), 8);
  const Outcome other = one.wait();
  EXPECT_EQ(other.status, 0) << other.err;
  EXPECT_EQ(other.out, "");
}

TEST(ProgramTest, Plots) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "weft-bench-test's.svg";
  const Outcome outcome =
      run_bench({"p2p", "-e", "256", "-n", "5", "--rounds", "1", "--connects", "0", "--plot", file});
  if (outcome.complains("--plot needs gnuplot")) GTEST_SKIP() << "gnuplot is not installed";
  expect_all_well(outcome, 6);
  EXPECT_NE(text_of(file).find("<svg"), std::string::npos);
  EXPECT_NE(text_of(file).find("latency, one way"), std::string::npos);
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace weft::bench
