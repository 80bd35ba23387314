// Which NICs make one device: properties over many machines, and the machines that have hurt users.
#include "topology/rail_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "tests/topology/machines.h"

namespace weft::topology {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int kMachines = 3000;

std::vector<std::size_t> sizes(const RailGroups& groups) {
  std::vector<std::size_t> found;
  for (const RailGroup& group : groups.groups) found.push_back(group.rails.size());
  return found;
}

std::vector<std::string> gpu_names(const Tree& tree, const RailGroup& group) {
  std::vector<std::string> names;
  for (const int gpu : group.gpus) names.push_back(tree.nodes[static_cast<std::size_t>(gpu)].name);
  return names;
}

GroupOptions random_options(std::mt19937_64& random) {
  return {.rails = random() % 2 != 0 ? static_cast<int>(random() % 9) : 0,
          .rails_without_gpus = 1 + static_cast<int>(random() % 4),
          .max_rails = 1 + static_cast<int>(random() % 8)};
}

TEST(RailGroupsPropertyTest, EveryNicIsInExactlyOneDeviceAndNoDeviceIsTooLarge) {
  for (unsigned seed = 0; seed < kMachines; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const Tree tree = random_machine(random);
    const auto nics = efa_nics(tree);
    const GroupOptions options = random_options(random);
    const RailGroups groups = group_rails(tree, nics, options);
    std::multiset<std::size_t> seen;
    for (const RailGroup& group : groups.groups) {
      EXPECT_FALSE(group.rails.empty());
      EXPECT_LE(group.rails.size(), static_cast<std::size_t>(options.max_rails));
      if (options.rails > 0) {
        EXPECT_LE(group.rails.size(), static_cast<std::size_t>(options.rails));
      }
      seen.insert(group.rails.begin(), group.rails.end());
    }
    EXPECT_EQ(seen.size(), nics.size());
    EXPECT_EQ(std::set<std::size_t>(seen.begin(), seen.end()).size(), nics.size());
    if (HasFailure()) return;
  }
}

/// Devices whose NICs meet at one node and that serve GPUs there.
TEST(RailGroupsPropertyTest, DevicesOfOneSetDifferByOneNicAtMost) {
  for (unsigned seed = 0; seed < kMachines; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const Tree tree = random_machine(random);
    const auto nics = efa_nics(tree);
    const RailGroups groups = group_rails(tree, nics, {});
    std::map<int, std::set<std::size_t>> lengths;
    for (const RailGroup& group : groups.groups) {
      int above = tree.find(*nics[group.rails.front()].address);
      const auto has_gpu = [&](int node) {
        return std::ranges::any_of(tree.all(Kind::kGpu), [&](int gpu) { return tree.is_below(gpu, node); });
      };
      while (above > 0 && !has_gpu(above)) above = tree.nodes[static_cast<std::size_t>(above)].parent;
      for (const std::size_t rail : group.rails) {
        EXPECT_TRUE(tree.is_below(tree.find(*nics[rail].address), above)) << "rails of two sets in one device";
      }
      lengths[above].insert(group.rails.size());
    }
    for (const auto& [node, set] : lengths) EXPECT_LE(*set.rbegin() - *set.begin(), 1U);
    if (HasFailure()) return;
  }
}

TEST(RailGroupsPropertyTest, BothEndsOfAWireGroupAlikeHoweverTheirKernelsCount) {
  for (unsigned seed = 0; seed < kMachines; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const Tree here = random_machine(random);
    const Tree there = shuffled(here, random);
    const GroupOptions options = random_options(random);
    const auto nics_here = efa_nics(here);
    auto nics_there = efa_nics(there);
    std::shuffle(nics_there.begin(), nics_there.end(), random);
    EXPECT_EQ(addresses(nics_here, group_rails(here, nics_here, options)),
              addresses(nics_there, group_rails(there, nics_there, options)));
    if (HasFailure()) return;
  }
}

TEST(RailGroupsPropertyTest, EveryGpuHasADeviceWhereThereIsOneAtAll) {
  for (unsigned seed = 0; seed < kMachines; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const Tree tree = random_machine(random);
    const auto nics = efa_nics(tree);
    const RailGroups groups = group_rails(tree, nics, random_options(random));
    for (const int gpu : tree.all(Kind::kGpu)) {
      const int index = group_of_gpu(tree, nics, groups, gpu);
      EXPECT_EQ(index < 0, nics.empty());
      EXPECT_LT(index, static_cast<int>(groups.groups.size()));
    }
    if (HasFailure()) return;
  }
}

TEST(RailGroupsTest, AGpuGetsTheNicsUnderItsSwitch) {
  const Tree tree = machine(8, 1, 4);
  const auto nics = efa_nics(tree);
  const RailGroups groups = group_rails(tree, nics, {});
  EXPECT_THAT(sizes(groups), ElementsAre(4, 4, 4, 4, 4, 4, 4, 4));
  EXPECT_THAT(groups.remarks, IsEmpty());
  EXPECT_THAT(gpu_names(tree, groups.groups[3]), ElementsAre("GPU 3"));
}

TEST(RailGroupsTest, TwoGpusUnderOneSwitchShareItsNicsEvenly) {
  const Tree tree = machine(4, 2, 4);
  const auto nics = efa_nics(tree);
  const RailGroups groups = group_rails(tree, nics, {});
  EXPECT_THAT(sizes(groups), ElementsAre(2, 2, 2, 2, 2, 2, 2, 2));
  EXPECT_THAT(gpu_names(tree, groups.groups[0]), ElementsAre("GPU 0"));
  EXPECT_THAT(gpu_names(tree, groups.groups[1]), ElementsAre("GPU 1"));
  EXPECT_EQ(addresses(nics, groups)[0], (std::vector<std::string>{"0000:11:00.0", "0000:11:01.0"}));
}

TEST(RailGroupsTest, TwoGpusShareTheOneNicOfTheirSwitch) {
  const Tree tree = machine(4, 2, 1);
  const auto nics = efa_nics(tree);
  const RailGroups groups = group_rails(tree, nics, {});
  EXPECT_THAT(sizes(groups), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(gpu_names(tree, groups.groups[1]), ElementsAre("GPU 2", "GPU 3"));
  EXPECT_THAT(groups.remarks, IsEmpty());
}

TEST(RailGroupsTest, FirstFunctionsFaceFirstFunctionsWhateverTheirAddresses) {
  // Two cards of two functions; on this machine the second card's functions are the other way round.
  Builder build;
  const int port = build.bridge(build.host_bridge(build.numa(0), "10"), "10:01.0");
  build.gpu(port, "11:04.0");
  build.efa(port, "11:00.0", 100, 0xa00), build.efa(port, "11:01.0", 100, 0xa01);
  build.efa(port, "11:02.0", 100, 0xb01), build.efa(port, "11:03.0", 100, 0xb00);
  const Tree tree = build.take();
  const auto nics = efa_nics(tree);
  EXPECT_EQ(addresses(nics, group_rails(tree, nics, {})),
            (std::vector<std::vector<std::string>>{{"0000:11:00.0", "0000:11:03.0", "0000:11:01.0", "0000:11:02.0"}}));
}

TEST(RailGroupsTest, FunctionsOfOneCardStayTogetherWhenGpusShareASwitch) {
  Builder build;
  const int port = build.bridge(build.host_bridge(build.numa(0), "10"), "10:01.0");
  build.gpu(port, "11:04.0"), build.gpu(port, "11:05.0");
  build.efa(port, "11:00.0", 200, 0xa00, 0xefa3), build.efa(port, "11:01.0", 200, 0xb00, 0xefa3);
  build.efa(port, "11:02.0", 200, 0xa01, 0xefa3), build.efa(port, "11:03.0", 200, 0xb01, 0xefa3);
  const Tree tree = build.take();
  const auto nics = efa_nics(tree);
  EXPECT_EQ(
      addresses(nics, group_rails(tree, nics, {})),
      (std::vector<std::vector<std::string>>{{"0000:11:00.0", "0000:11:02.0"}, {"0000:11:01.0", "0000:11:03.0"}}));
}

TEST(RailGroupsTest, AGpuWithoutNicsOfItsOwnIsNamedWithTheOneItUses) {
  Builder build;
  const int near = build.host_bridge(build.numa(0), "10"), far = build.host_bridge(build.numa(1), "20");
  build.gpu(near, "10:00.0"), build.efa(near, "10:01.0");
  build.gpu(far, "20:00.0");
  const Tree tree = build.take();
  const RailGroups groups = group_rails(tree, efa_nics(tree), {});
  EXPECT_THAT(groups.remarks,
              ElementsAre("GPU 1 has no NIC under its switch; using NIC nic-0000:10:01.0 across the CPU link"));
}

TEST(RailGroupsTest, NicsFarFromEveryGpuGoToTheGpuThatHasNone) {
  Builder build;
  const int node = build.numa(0);
  const int first = build.host_bridge(node, "10"), second = build.host_bridge(node, "20"),
            third = build.host_bridge(node, "30");
  build.gpu(first, "10:00.0"), build.efa(first, "10:01.0");
  build.gpu(second, "20:00.0"), build.efa(third, "30:00.0");
  const Tree tree = build.take();
  const auto nics = efa_nics(tree);
  const RailGroups groups = group_rails(tree, nics, {});
  EXPECT_THAT(sizes(groups), ElementsAre(1, 1));
  EXPECT_THAT(gpu_names(tree, groups.groups[1]), ElementsAre("GPU 1"));
  EXPECT_THAT(groups.remarks,
              ElementsAre(HasSubstr("GPU 1 has no NIC under its switch; using NIC nic-0000:30:00.0 through")));
}

TEST(RailGroupsTest, OneGpuAndFourNicsOfAP5) {
  const Tree tree = machine(1, 1, 4);
  EXPECT_THAT(sizes(group_rails(tree, efa_nics(tree), {})), ElementsAre(4));
}

TEST(RailGroupsTest, NicsOfGpusThatAContainerHidesMakeDevicesOfTheSameSize) {
  Builder build;
  const int node = build.numa(0);
  for (const char* bus : {"10", "20", "30"}) {
    const int host = build.host_bridge(node, bus);
    for (int i = 0; i < 4; ++i) build.efa(host, std::string(bus) + ":0" + std::to_string(i) + ".0");
    if (std::string(bus) == "20") build.gpu(host, "20:10.0");
  }
  const Tree tree = build.take();
  const RailGroups groups = group_rails(tree, efa_nics(tree), {});
  EXPECT_THAT(sizes(groups), ElementsAre(4, 4, 4));
  EXPECT_THAT(groups.remarks, ElementsAre(HasSubstr("8 NICs")));
}

TEST(RailGroupsTest, AMissingNicIsRemarkedOnWhereTheTableKnows) {
  const Tree tree = machine(2, 1, 4);
  auto nics = efa_nics(tree);
  nics.erase(nics.begin() + 1);
  const RailGroups groups = group_rails(tree, nics, {.expected_rails = 4});
  EXPECT_THAT(groups.remarks, ElementsAre(HasSubstr("has 3 rails, not 4")));
  EXPECT_THAT(group_rails(tree, nics, {.expected_rails = 3}).remarks, IsEmpty());
}

TEST(RailGroupsTest, LeftoversForAGpuMakeNoDeviceLargerThanTheOthers) {
  Builder build;
  const int node = build.numa(0);
  const int first = build.host_bridge(node, "10"), second = build.host_bridge(node, "20");
  build.gpu(first, "10:10.0"), build.efa(first, "10:00.0"), build.efa(first, "10:01.0");
  build.gpu(second, "20:10.0");
  for (const char* bus : {"30", "40"}) {
    const int host = build.host_bridge(node, bus);
    build.efa(host, std::string(bus) + ":00.0"), build.efa(host, std::string(bus) + ":01.0");
  }
  const Tree tree = build.take();
  EXPECT_THAT(sizes(group_rails(tree, efa_nics(tree), {})), ElementsAre(2, 2, 2));
}

TEST(RailGroupsTest, WhatAContainerWasNotGivenIsNeitherUsedNorRemarkedOn) {
  Builder build;
  const int near = build.host_bridge(build.numa(0), "10"), far = build.host_bridge(build.numa(1), "20");
  build.gpu(near, "10:00.0"), build.efa(near, "10:01.0"), build.efa(near, "10:02.0");
  build.gpu(far, "20:00.0");
  Tree tree = build.take();
  for (Node& node : tree.nodes) {
    node.is_withheld = node.address == PciAddress::parse("10:02.0") || node.address == PciAddress::parse("20:00.0");
  }
  const auto nics = efa_nics(tree);
  const RailGroups groups = group_rails(tree, nics, {});
  EXPECT_EQ(addresses(nics, groups), (std::vector<std::vector<std::string>>{{"0000:10:01.0"}}));
  EXPECT_THAT(groups.remarks, IsEmpty());
}

TEST(RailGroupsTest, WithoutGpusEveryNicStandsForItselfUnlessTheTableKnowsBetter) {
  const Tree tree = machine(2, 0, 4);
  const auto nics = efa_nics(tree);
  EXPECT_THAT(sizes(group_rails(tree, nics, {})), ElementsAre(1, 1, 1, 1, 1, 1, 1, 1));
  EXPECT_THAT(sizes(group_rails(tree, nics, {.rails_without_gpus = 4})), ElementsAre(4, 4));
}

TEST(RailGroupsTest, WithoutNicsThereIsNothing) {
  const Tree tree = machine(2, 2, 0);
  EXPECT_THAT(group_rails(tree, {}, {}).groups, IsEmpty());
  EXPECT_EQ(group_of_gpu(tree, {}, {}, tree.all(Kind::kGpu).front()), -1);
}

TEST(RailGroupsTest, NicsWhosePlaceIsHiddenAreGroupedByAddressAndNamed) {
  const std::vector<Nic> nics = {{"b", PciAddress::parse("11:00.0"), 0}, {"a", PciAddress::parse("10:00.0"), 0}};
  const RailGroups groups = group_rails(Tree{}, nics, {.rails_without_gpus = 2});
  EXPECT_EQ(addresses(nics, groups), (std::vector<std::vector<std::string>>{{"0000:10:00.0", "0000:11:00.0"}}));
  EXPECT_THAT(groups.remarks, ElementsAre(HasSubstr("hidden")));
}

TEST(RailGroupsTest, TwoNicsAtOneAddressAreBothKeptAndNamed) {
  const Tree tree = machine(1, 1, 1);
  std::vector<Nic> nics = efa_nics(tree);
  nics.push_back(nics.front());
  nics.back().name = "twin";
  const RailGroups groups = group_rails(tree, nics, {});
  EXPECT_THAT(sizes(groups), ElementsAre(1, 1));
  EXPECT_THAT(groups.remarks, testing::Contains(HasSubstr("twin")));
}

TEST(RailGroupsTest, TheUsersCountIsForced) {
  const Tree tree = machine(4, 2, 4);
  const auto nics = efa_nics(tree);
  EXPECT_THAT(sizes(group_rails(tree, nics, {.rails = 1})), testing::SizeIs(16));
  EXPECT_THAT(sizes(group_rails(tree, nics, {.rails = 4})), ElementsAre(4, 4, 4, 4));
  // No switch has eight: they are taken together.
  EXPECT_THAT(sizes(group_rails(tree, nics, {.rails = 8})), ElementsAre(8, 8));
  const RailGroups uneven = group_rails(tree, nics, {.rails = 3});
  EXPECT_THAT(sizes(uneven), ElementsAre(2, 2, 2, 2, 2, 2, 2, 2));
  EXPECT_THAT(uneven.remarks, testing::Contains(HasSubstr("has 2 rails, not 3 as WEFT_RAILS asks")));
}

TEST(RailGroupsTest, AGpuWhoseNicsAreNotTheLeadHasThemAllTheSame) {
  const Tree tree = machine(2, 1, 4);
  EXPECT_THAT(group_rails(tree, efa_nics(tree), {.rails = 8}).remarks, IsEmpty());
}

TEST(RailGroupsTest, OneSmallSetDoesNotSpoilTheOthers) {
  const Tree tree = machine(3, 1, 2);
  auto nics = efa_nics(tree);
  nics.erase(nics.begin());
  EXPECT_EQ(addresses(nics, group_rails(tree, nics, {.rails = 2})),
            (std::vector<std::vector<std::string>>{
                {"0000:11:01.0"}, {"0000:21:00.0", "0000:21:01.0"}, {"0000:31:00.0", "0000:31:01.0"}}));
}

TEST(RailGroupsTest, NoDeviceHasMoreThanTheTransportCanDrive) {
  const Tree tree = machine(1, 1, 12);
  EXPECT_THAT(sizes(group_rails(tree, efa_nics(tree), {})), ElementsAre(6, 6));
}

TEST(RailGroupsTest, OnlyEfaIsUsed) {
  Builder build;
  const int host = build.host_bridge(0, "10");
  build.gpu(host, "10:00.0"), build.efa(host, "10:01.0");
  build.nic(host, "10:02.0", 0x15b3, 0x1021), build.nic(host, "10:03.0", kAmazonVendor, 0xec20);
  const Tree tree = build.take();
  const auto nics = efa_nics(tree);
  ASSERT_EQ(nics.size(), 1U);
  EXPECT_EQ(nics[0].address, PciAddress::parse("10:01.0"));
}

}  // namespace
}  // namespace weft::topology
