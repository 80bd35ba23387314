// Which devices are opened, from what libfabric offers, the machine's tree and the user's parameters.
#include "plugin/device_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "plugin/discovery.h"
#include "tests/fabric_fake/fake_fabric.h"
#include "tests/plugin/fake_root.h"

namespace weft::plugin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Four NICs of one provider, whose places among the PCI devices nobody says.
class DevicePlanTest : public testing::Test {
 protected:
  Result<DevicePlan> plan(const std::string& provider, const Params& params = {}, int most_rails = 8) {
    std::vector<test::FakeNic> nics;
    for (const char* name : {"b", "a", "d", "c"}) {
      test::FakeNic nic;
      nic.provider = provider;
      nic.name = name;
      nics.push_back(nic);
    }
    infos_.clear();  // they belong to the fabric before
    fabric_.reset();
    fabric_ = std::make_unique<test::FakeFabric>(test::FakeOptions{.nics = nics});
    infos_ = discover_nics(fabric_->library(), {}, false, root_.path()).value();
    topology::Tree tree;
    tree.instance_type = "p5en.48xlarge";
    return plan_devices(infos_, tree, params, most_rails);
  }

  static std::vector<std::string> names(const Result<DevicePlan>& plan) {
    std::vector<std::string> found;
    for (const auto& device : plan.value().devices) {
      std::string text;
      for (const auto* rail : device.rails) text += rail->domain();
      found.push_back(text);
    }
    return found;
  }

  test::FakeRoot root_;
  std::unique_ptr<test::FakeFabric> fabric_;
  std::vector<fabric::Info> infos_;
};

TEST_F(DevicePlanTest, EfaNicsFollowTheInstanceTableWhereTheMachineShowsNothing) {
  const auto made = plan("efa");
  EXPECT_THAT(names(made), ElementsAre("ab", "cd"));
  const PlannedDevice& second = made->devices[1];
  EXPECT_EQ(second.rail_id, -1) << "nobody knows where it is";
  EXPECT_EQ(second.rail_mbps, 200'000);
  EXPECT_FLOAT_EQ(second.latency_us, 35);
  EXPECT_NE(second.guid, made->devices[0].guid);
}

TEST_F(DevicePlanTest, OtherNicsStandAloneAndSayNothingOfEfa) {
  const auto made = plan("tcp");
  EXPECT_THAT(names(made), ElementsAre("a", "b", "c", "d"));
  EXPECT_EQ(made->devices[0].rail_id, -1);
  EXPECT_EQ(made->devices[0].rail_mbps, 0);
  EXPECT_THAT(made->remarks, IsEmpty());
}

TEST_F(DevicePlanTest, TheUsersCountIsTakenForBoth) {
  Params params;
  params.rails = 4;
  EXPECT_THAT(names(plan("tcp", params)), ElementsAre("abcd"));
  params.rails = 1;
  EXPECT_THAT(names(plan("efa", params)), ElementsAre("a", "b", "c", "d"));
}

TEST_F(DevicePlanTest, ATransportForOneRailGetsOne) {
  Params params;
  params.rails = 4;
  EXPECT_THAT(names(plan("efa", params, 1)), ElementsAre("a", "b", "c", "d"));
}

TEST_F(DevicePlanTest, TheUserChoosesNics) {
  Params params;
  params.nics = "a,c,d";
  params.nics_exclude = "d";
  EXPECT_THAT(names(plan("efa", params)), ElementsAre("ac"));
  params.nics = "x";
  EXPECT_THAT(plan("efa", params).error().what, HasSubstr("WEFT_NICS names x"));
  params.nics = "";
  params.nics_exclude = "d,x";
  const auto made = plan("efa", params);
  EXPECT_THAT(names(made), ElementsAre("ab", "c"));
  EXPECT_THAT(made->remarks, testing::Contains(HasSubstr("WEFT_NICS_EXCLUDE names x")));
  params.nics = "a,,b";
  EXPECT_THAT(plan("efa", params).error().what, HasSubstr("WEFT_NICS is \"a,,b\""));
}

}  // namespace
}  // namespace weft::plugin
