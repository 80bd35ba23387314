// Command lines that cannot be right: refused at once, with exit status 2 and a message that says what to do.
#include <gtest/gtest.h>

#include "bench/socket.h"
#include "tests/bench/program.h"

namespace weft::bench {
namespace {

struct Case {
  std::vector<std::string> arguments;
  const char* message;
};

void PrintTo(const Case& test, std::ostream* out) {
  for (const std::string& argument : test.arguments) *out << argument << ' ';
}

class UsageTest : public testing::TestWithParam<Case> {};

TEST_P(UsageTest, IsRefusedWithItsReason) {
  const Outcome outcome = run_bench(GetParam().arguments);
  EXPECT_EQ(outcome.status, 2);
  EXPECT_TRUE(outcome.complains(GetParam().message)) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_LT(outcome.seconds, 5);
}

INSTANTIATE_TEST_SUITE_P(
    CommandLines, UsageTest,
    testing::Values(
        Case{{}, "A subcommand is required"}, Case{{"all-reduce", "-b", "0"}, "-b 0"},
        Case{{"all-reduce", "-b", "1K", "-e", "8"}, "-e 8 is below -b 1K"},
        Case{{"all-reduce", "-f", "1"}, "--stepfactor"}, Case{{"all-reduce", "-f", "two"}, "--stepfactor"},
        Case{{"all-reduce", "-i", "0"}, "-i 0"}, Case{{"all-reduce", "-f", "2", "-i", "8"}, "excludes"},
        Case{{"all-reduce", "-b", "8Q"}, "'8Q' is not a size"}, Case{{"all-reduce", "-n", "0"}, "--iters"},
        Case{{"all-reduce", "--ranks", "1"}, "at least 2 ranks"}, Case{{"all-reduce", "--ranks", "0"}, "--ranks"},
        Case{{"all-reduce", "--rank", "0"}, "--size"},
        Case{{"all-reduce", "--rank", "2", "--size", "2", "--rendezvous", "a:1"}, "--rank 2 does not fit --size 2"},
        Case{{"all-reduce", "--rank", "0", "--size", "2"}, "--rendezvous"},
        Case{{"all-reduce", "--rank", "0", "--size", "2", "--rendezvous", "nowhere"}, "'nowhere' is not HOST:PORT"},
        Case{{"all-reduce", "--abi", "v7"}, "--abi v7"}, Case{{"all-reduce", "--debug", "LOUD"}, "'LOUD'"},
        Case{{"all-reduce", "--timeout", "0"}, "--timeout"}, Case{{"all-reduce", "--chunk", "2"}, "--chunk 2"},
        Case{{"all-reduce", "--tokens", "5"}, "--tokens"}, Case{{"p2p", "--ranks", "4"}, "2 ranks, not 4"},
        Case{{"p2p", "--sub-receives", "9"}, "--sub-receives"}, Case{{"p2p", "--raw-rails", "9"}, "--raw-rails"},
        Case{{"moe", "--ranks", "3", "--experts", "64"}, "cannot be divided among 3 ranks"},
        Case{{"moe", "--experts", "4", "--top-k", "8"}, "--top-k 8"}, Case{{"moe", "--zipf", "-1"}, "--zipf"},
        Case{{"all-reduce", "--compare", "/nonexistent/plugin.so"}, "cannot load plugin /nonexistent/plugin.so"}));

TEST(UsageTest, APluginThatIsNoneIsNamed) {
  const auto outcome = [](const char* path) { return Program({"all-reduce", "--plugin", path}, {}).wait(); };
  const Outcome no_table = outcome(WEFT_BENCH_NO_PLUGIN);
  EXPECT_EQ(no_table.status, 2);
  EXPECT_TRUE(no_table.complains("exports none of ncclNetPlugin_v12 to ncclNetPlugin_v8")) << no_table.err;
  const Outcome no_library = outcome("/proc/self/status");
  EXPECT_EQ(no_library.status, 2);
  EXPECT_TRUE(no_library.complains("cannot load plugin /proc/self/status")) << no_library.err;
}

TEST(UsageTest, AMissingGnuplotIsNamedBeforeAnythingRuns) {
  const Outcome outcome = run_bench({"all-reduce", "--plot", "x.svg"}, {"PATH=/nonexistent"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_TRUE(outcome.complains("--plot needs gnuplot")) << outcome.err;
}

TEST(UsageTest, AFileThatCannotBeWrittenIsNamedBeforeAnythingRuns) {
  const Outcome outcome = run_bench({"all-reduce", "--json", "/nonexistent/x.json"});
  EXPECT_NE(outcome.status, 0);
  EXPECT_TRUE(outcome.complains("cannot write /nonexistent/x.json: No such file")) << outcome.err;
  EXPECT_EQ(outcome.out, "");
}

TEST(UsageTest, ALauncherThatSaysTooLittleIsNamed) {
  const Outcome outcome = run_bench({"all-reduce"}, {"PMI_RANK=0", "PMI_SIZE=2"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_TRUE(outcome.complains("give --rendezvous HOST:PORT")) << outcome.err;
}

TEST(UsageTest, HelpIsNoError) {
  const Outcome outcome = run_bench({"--help"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_TRUE(outcome.says("all-to-all"));
}

}  // namespace
}  // namespace weft::bench
