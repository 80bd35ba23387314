#include "weft/params.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace weft {
namespace {

LoadedParams load(const Environment& environment) {
  auto loaded = load_params(environment);
  EXPECT_TRUE(loaded.has_value()) << loaded.error().what;
  return loaded ? *loaded : LoadedParams{};
}

std::string only_warning(const Environment& environment) {
  const auto loaded = load(environment);
  EXPECT_EQ(loaded.warnings.size(), 1U);
  return loaded.warnings.empty() ? "" : loaded.warnings.front();
}

TEST(ParamsTest, DefaultsComeFromTheTable) {
  const auto [params, warnings] = load({});
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(params.libfabric, "");
  EXPECT_EQ(params.provider, "");
  EXPECT_EQ(params.interfaces, "");
  EXPECT_FALSE(params.require);
  EXPECT_EQ(params.connect_timeout_s, 120);
  EXPECT_EQ(params.peer_check_ms, 1000);
  EXPECT_EQ(params.stall_warning_s, 60);
  EXPECT_EQ(params.cq_size, 0);
  EXPECT_TRUE(params.mr_cache);
}

TEST(ParamsTest, EveryVariableIsRead) {
  const auto [params, warnings] = load({{"WEFT_LIBFABRIC", "/a/b.so"},
                                        {"WEFT_PROVIDER", "efa"},
                                        {"WEFT_INTERFACES", "^lo"},
                                        {"WEFT_REQUIRE", "1"},
                                        {"WEFT_CONNECT_TIMEOUT_S", "5"},
                                        {"WEFT_PEER_CHECK_MS", "50"},
                                        {"WEFT_STALL_WARNING_S", "0"},
                                        {"WEFT_CQ_SIZE", "4096"},
                                        {"WEFT_MR_CACHE", "0"}});
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(params.libfabric, "/a/b.so");
  EXPECT_EQ(params.provider, "efa");
  EXPECT_EQ(params.interfaces, "^lo");
  EXPECT_TRUE(params.require);
  EXPECT_EQ(params.connect_timeout_s, 5);
  EXPECT_EQ(params.peer_check_ms, 50);
  EXPECT_EQ(params.stall_warning_s, 0);
  EXPECT_EQ(params.cq_size, 4096);
  EXPECT_FALSE(params.mr_cache);
}

TEST(ParamsTest, RangesIncludeTheirEnds) {
  EXPECT_EQ(load({{"WEFT_CONNECT_TIMEOUT_S", "1"}}).params.connect_timeout_s, 1);
  EXPECT_EQ(load({{"WEFT_CONNECT_TIMEOUT_S", "86400"}}).params.connect_timeout_s, 86400);
  EXPECT_TRUE(load({{"WEFT_CONNECT_TIMEOUT_S", "86400"}}).warnings.empty());
}

TEST(ParamsTest, BadNumbersKeepTheDefaultAndAreNamed) {
  for (const char* bad : {"0", "86401", "-5", "ten", "10s", "1.5", " 10", "0x10", "99999999999999999999", "+7"}) {
    SCOPED_TRACE(bad);
    const auto [params, warnings] = load({{"WEFT_CONNECT_TIMEOUT_S", bad}});
    EXPECT_EQ(params.connect_timeout_s, 120);
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_EQ(warnings[0], std::string("WEFT_CONNECT_TIMEOUT_S is \"") + bad +
                               "\", but must be a whole number from 1 to 86400 (s): going on with the default, 120");
  }
}

TEST(ParamsTest, SwitchesTakeTheUsualWords) {
  for (const char* on : {"1", "on", "yes", "true", "TRUE", "On"})
    EXPECT_TRUE(load({{"WEFT_REQUIRE", on}}).params.require) << on;
  for (const char* off : {"0", "off", "no", "false", "False"}) {
    EXPECT_FALSE(load({{"WEFT_MR_CACHE", off}}).params.mr_cache) << off;
  }
}

TEST(ParamsTest, BadSwitchKeepsTheDefault) {
  const auto warning = only_warning({{"WEFT_MR_CACHE", "2"}});
  EXPECT_EQ(warning, "WEFT_MR_CACHE is \"2\", but must be 0 or 1: going on with the default, 1");
  EXPECT_TRUE(load({{"WEFT_MR_CACHE", "2"}}).params.mr_cache);
}

TEST(ParamsTest, BadSwitchWhoseDefaultWouldBeDangerousIsAnError) {
  const auto loaded = load_params({{"WEFT_REQUIRE", "ture"}});
  ASSERT_FALSE(loaded.has_value());
  EXPECT_EQ(loaded.error().code, Code::kArgument);
  EXPECT_EQ(loaded.error().what, "WEFT_REQUIRE is \"ture\", but must be 0 or 1: correct or unset it");
}

TEST(ParamsTest, EmptyCountsAsNotSet) {
  const auto [params, warnings] = load({{"WEFT_CONNECT_TIMEOUT_S", ""}, {"WEFT_REQUIRE", ""}, {"WEFT_PROVIDER", ""}});
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(params.connect_timeout_s, 120);
}

TEST(ParamsTest, UnknownNamesAreNamedWithTheNearest) {
  EXPECT_EQ(only_warning({{"WEFT_PROVIDERS", "tcp"}}),
            "WEFT_PROVIDERS is not a parameter of this version and does nothing; did you mean WEFT_PROVIDER?");
  EXPECT_NE(only_warning({{"WEFT_IFACES", "x"}}).find("did you mean WEFT_INTERFACES?"), std::string::npos);
  EXPECT_NE(only_warning({{"WEFT_CONECT_TIMOUT_S", "x"}}).find("WEFT_CONNECT_TIMEOUT_S?"), std::string::npos);
  EXPECT_NE(only_warning({{"WEFT_require", "1"}}).find("does nothing"), std::string::npos)
      << "names are case sensitive";
}

TEST(ParamsTest, FarFetchedNamesGetNoSuggestion) {
  EXPECT_EQ(only_warning({{"WEFT_XYZZY_PLUGH", "1"}}),
            "WEFT_XYZZY_PLUGH is not a parameter of this version and does nothing");
  EXPECT_EQ(only_warning({{"WEFT_", "1"}}), "WEFT_ is not a parameter of this version and does nothing");
}

TEST(ParamsTest, VariablesOfOurProgramsAreNotUnknown) {
  EXPECT_TRUE(load({{"WEFT_BENCH_RANK", "1"}, {"WEFT_LAB_NODE", "1"}, {"WEFT_TEST_SEED", "1"}}).warnings.empty());
}

TEST(ParamsTest, ProcessEnvironmentHoldsOurVariablesOnly) {
  setenv("WEFT_TEST_PARAMS", "a=b", 1);
  setenv("NOT_WEFT_TEST_PARAMS", "c", 1);
  const auto environment = process_environment();
  unsetenv("WEFT_TEST_PARAMS");
  unsetenv("NOT_WEFT_TEST_PARAMS");
  ASSERT_TRUE(environment.contains("WEFT_TEST_PARAMS"));
  EXPECT_EQ(environment.at("WEFT_TEST_PARAMS"), "a=b");
  for (const auto& [name, value] : environment) {
    EXPECT_TRUE(name.starts_with("WEFT_")) << name;
  }
}

TEST(ParamsTest, TableHasARowPerVariable) {
  const std::string table = params_markdown();
  EXPECT_TRUE(table.starts_with("| Variable | Default | Values | Meaning |\n|---|---|---|---|\n"));
  EXPECT_NE(table.find("| `WEFT_CONNECT_TIMEOUT_S` | 120 | 1 to 86400 s | "), std::string::npos);
  EXPECT_NE(table.find("| `WEFT_REQUIRE` | 0 | 0, 1 | "), std::string::npos);
  EXPECT_NE(table.find("| `WEFT_PROVIDER` | empty | text | "), std::string::npos);
  EXPECT_EQ(std::ranges::count(table, '\n'), 2 + 13);
}

}  // namespace
}  // namespace weft
