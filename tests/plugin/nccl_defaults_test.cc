// What NCCL is told on a machine, and that the user's own words win.
#include "plugin/nccl_defaults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "plugin/env_plugin.h"
#include "tests/topology/machines.h"

namespace weft::plugin {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StrEq;

topology::Tree p5() {
  topology::Tree tree = topology::machine(8, 1, 4);
  tree.instance_type = "p5.48xlarge";
  return tree;
}

TEST(NcclDefaultsTest, AKnownInstanceHasItsSettingsAndAFileWhereDevicesHideNics) {
  const NcclDefaults defaults = nccl_defaults(p5(), {}).value();
  EXPECT_EQ(defaults.values.at("NCCL_BUFFSIZE").text, "8388608");
  EXPECT_FALSE(defaults.values.at("NCCL_BUFFSIZE").reason.empty());
  EXPECT_THAT(defaults.topology_xml, HasSubstr("busid=\"0000:11:00.0\""));
}

TEST(NcclDefaultsTest, WithoutHiddenNicsNcclNeedsNoFile) {
  Params one;
  one.rails = 1;
  EXPECT_THAT(nccl_defaults(p5(), one).value().topology_xml, IsEmpty());
  Params two_sided;
  two_sided.protocol = "sendrecv";
  EXPECT_THAT(nccl_defaults(p5(), two_sided).value().topology_xml, IsEmpty());
}

TEST(NcclDefaultsTest, OneDeviceForEachGpuIsAdvisedOnlyWhereThatIsSo) {
  topology::Tree tree = topology::machine(4, 2, 4);
  tree.instance_type = "p5en.48xlarge";
  EXPECT_TRUE(nccl_defaults(tree, {}).value().values.contains("NCCL_NETDEVS_POLICY"));
  Params one;
  one.rails = 1;
  EXPECT_FALSE(nccl_defaults(tree, one).value().values.contains("NCCL_NETDEVS_POLICY"));
}

TEST(NcclDefaultsTest, TheFileFollowsTheUsersChoiceOfInterfaces) {
  Params params;
  params.interfaces = "=nic-0000:21:00.0-rdm,=nic-0000:21:01.0-rdm";
  const std::string xml = nccl_defaults(p5(), params).value().topology_xml;
  EXPECT_THAT(xml, HasSubstr("busid=\"0000:21:00.0\""));
  EXPECT_THAT(xml, testing::Not(HasSubstr("busid=\"0000:11:00.0\"")));
}

TEST(NcclDefaultsTest, WhereTheProtocolHasOneRailNoDeviceHasMore) {
  topology::Tree tree = topology::machine(4, 2, 4);
  tree.instance_type = "p4d.24xlarge";
  Params four;
  four.rails = 4;
  EXPECT_THAT(nccl_defaults(tree, four).value().topology_xml, IsEmpty());
}

TEST(NcclDefaultsTest, AHiddenSwitchNeedsTheFile) {
  topology::Builder build;
  for (const char* bus : {"10", "20"}) {
    const int bridge = build.host_bridge(0, bus);
    build.gpu(bridge, std::string(bus) + ":1c.0"), build.efa(bridge, std::string(bus) + ":1b.0");
  }
  EXPECT_THAT(nccl_defaults(build.take(), {}).value().topology_xml, HasSubstr("busid=\"ffff:"));
}

TEST(NcclDefaultsTest, AnotherNetworkThanEfaHasNone) {
  topology::Tree tree = topology::machine(2, 1, 0);
  tree.instance_type = "p5.48xlarge";
  EXPECT_THAT(nccl_defaults(tree, {}).value().values, IsEmpty());
  Params tcp;
  tcp.provider = "tcp";
  EXPECT_THAT(nccl_defaults(p5(), tcp).value().values, IsEmpty());
}

TEST(NcclDefaultsTest, TheFileFollowsTheUsersChoiceOfNics) {
  Params params;
  params.nics = "0000:21:00.0,0000:21:01.0";
  const std::string xml = nccl_defaults(p5(), params).value().topology_xml;
  EXPECT_THAT(xml, HasSubstr("busid=\"0000:21:00.0\""));
  EXPECT_THAT(xml, testing::Not(HasSubstr("busid=\"0000:11:00.0\"")));
  params.nics = "none";
  EXPECT_THAT(nccl_defaults(p5(), params).error().what, HasSubstr("WEFT_NICS names none"));
}

TEST(EnvPluginTest, ASecondStartChangesNothingForTheFirst) {
  ASSERT_EQ(env_init(2, 29, 7, ""), nccl::ncclSuccess);
  // tests/lab/topology.sh runs this where the machine is one with defaults.
  const char* const before = env_get("NCCL_BUFFSIZE");
  EXPECT_EQ(before != nullptr, std::getenv("WEFT_LAB_EFA_PRODUCT") != nullptr);
  const std::string text = before != nullptr ? before : "";
  ASSERT_EQ(env_init(2, 29, 7, ""), nccl::ncclSuccess);
  EXPECT_EQ(env_get("NCCL_BUFFSIZE"), before);
  EXPECT_EQ(text, before != nullptr ? before : "");
}

TEST(EnvPluginTest, WhatTheUserHasSetIsWhatNcclGets) {
  ASSERT_EQ(env_init(2, 29, 7, ""), nccl::ncclSuccess);
  ASSERT_EQ(setenv("WEFT_TEST_VARIABLE", "mine", 1), 0);
  EXPECT_THAT(env_get("WEFT_TEST_VARIABLE"), StrEq("mine"));
  ASSERT_EQ(unsetenv("WEFT_TEST_VARIABLE"), 0);
  EXPECT_EQ(env_get("WEFT_TEST_VARIABLE"), nullptr);
  EXPECT_EQ(env_get(nullptr), nullptr);
  EXPECT_EQ(env_finalize(), nccl::ncclSuccess);
}

}  // namespace
}  // namespace weft::plugin
