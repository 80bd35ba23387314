#include "bench/environment.h"

#include <gtest/gtest.h>

#include <map>

namespace weft::bench {
namespace {

/// An environment made of the given variables only.
Lookup with(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) {
    const auto found = variables.find(name);
    return found != variables.end() ? found->second.c_str() : nullptr;
  };
}

Place place(std::map<std::string, std::string> variables) {
  const auto found = place_from_environment(with(std::move(variables)));
  EXPECT_TRUE(found) << found.error().what;
  EXPECT_TRUE(found && found->has_value());
  return found && *found ? **found : Place{};
}

TEST(EnvironmentTest, NoLauncherIsNoPlace) { EXPECT_FALSE(place_from_environment(with({})).value()); }

TEST(EnvironmentTest, ReadsTorchrun) {
  const Place found = place({{"RANK", "3"},
                             {"WORLD_SIZE", "8"},
                             {"LOCAL_WORLD_SIZE", "4"},
                             {"MASTER_ADDR", "node0"},
                             {"MASTER_PORT", "29500"}});
  EXPECT_EQ(found.rank, 3);
  EXPECT_EQ(found.size, 8);
  EXPECT_EQ(found.local_size, 4);
  EXPECT_EQ(found.rendezvous, "node0:29500");
  EXPECT_EQ(found.launcher, "torchrun");
}

TEST(EnvironmentTest, LeavesTorchrunsOwnStoreAlone) {
  const Place found = place({{"RANK", "0"},
                             {"WORLD_SIZE", "2"},
                             {"MASTER_ADDR", "node0"},
                             {"MASTER_PORT", "29500"},
                             {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  EXPECT_EQ(found.rendezvous, "node0:29501");
}

TEST(EnvironmentTest, RankAloneIsNotTorchrun) { EXPECT_FALSE(place_from_environment(with({{"RANK", "3"}})).value()); }

TEST(EnvironmentTest, ReadsOpenMpiOnOneMachine) {
  const std::map<std::string, std::string> common = {
      {"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}, {"PMIX_NAMESPACE", "prterun-host-17@1"}};
  auto first = common;
  auto second = common;
  first.emplace("OMPI_COMM_WORLD_RANK", "0");
  second.emplace("OMPI_COMM_WORLD_RANK", "1");
  EXPECT_EQ(place(second).rank, 1);
  EXPECT_EQ(place(first).rendezvous, place(second).rendezvous);
  EXPECT_TRUE(place(first).rendezvous.starts_with("127.0.0.1:2"));
}

TEST(EnvironmentTest, PmiOnSeveralMachinesDoesNotGuessWhereRankZeroIs) {
  const Place found = place({{"PMI_RANK", "5"}, {"PMI_SIZE", "16"}, {"MPI_LOCALNRANKS", "8"}});
  EXPECT_EQ(found.rank, 5);
  EXPECT_EQ(found.local_size, 8);
  EXPECT_EQ(found.rendezvous, "");
}

TEST(EnvironmentTest, FindsSlurmsFirstNode) {
  const auto host = [](const char* nodes) {
    const std::string where = place({{"SLURM_PROCID", "1"},
                                     {"SLURM_NTASKS", "2"},
                                     {"SLURM_STEP_NODELIST", nodes},
                                     {"SLURM_JOB_ID", "77"},
                                     {"SLURM_STEP_ID", "0"}})
                                  .rendezvous;
    return where.substr(0, where.find(':'));
  };
  EXPECT_EQ(host("node07"), "node07");
  EXPECT_EQ(host("node07,node09"), "node07");
  EXPECT_EQ(host("node[07-09,12]"), "node07");
  EXPECT_EQ(host("node[7]"), "node7");
  EXPECT_EQ(host("a1,b[2-3]"), "a1");
  EXPECT_EQ(host("rack[1-2]-x,c3"), "rack1-x");
}

TEST(EnvironmentTest, RefusesWhatDoesNotFit) {
  for (const auto& bad : std::vector<std::map<std::string, std::string>>{
           {{"PMI_RANK", "4"}, {"PMI_SIZE", "4"}},
           {{"PMI_RANK", "-1"}, {"PMI_SIZE", "4"}},
           {{"PMI_RANK", "zero"}, {"PMI_SIZE", "4"}},
           {{"OMPI_COMM_WORLD_RANK", "1"}},
           {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "http"}}}) {
    EXPECT_FALSE(place_from_environment(with(bad)));
  }
}

TEST(EnvironmentTest, FindsProgramsInPath) {
  EXPECT_EQ(find_program("sh", with({{"PATH", "/nonexistent:/bin"}})), "/bin/sh");
  EXPECT_EQ(find_program("no-such-program", with({{"PATH", "/bin"}})), "");
  EXPECT_EQ(find_program("sh", with({})), "");
}

}  // namespace
}  // namespace weft::bench
