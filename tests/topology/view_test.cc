// What people and programs are shown of a machine.
#include "topology/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/topology/machines.h"
#include "topology/json_view.h"
#include "topology/svg_view.h"
#include "topology/text_view.h"

namespace weft::topology {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr NcclDefault kSettings[] = {{"NCCL_BUFFSIZE", "8388608", "Because of this.", "somewhere"},
                                     {"NCCL_P2P_NET_CHUNKSIZE", "524288", "Because of that.", "elsewhere"}};
constexpr Instance kInstance{.type = "x1.large",
                             .efa = "EFAv9 (0xefa1)",
                             .nics = 4,
                             .nic_mbps = 100'000,
                             .gpus = 2,
                             .rails = 2,
                             .latency_us = 35,
                             .protocol = "rdma",
                             .source = "here",
                             .defaults = kSettings};

/// Owns what a view looks at.
struct Machine {
  explicit Machine(Tree with, int rails = 0)
      : tree(std::move(with)), nics(efa_nics(tree)), groups(group_rails(tree, nics, {.rails = rails})) {}
  View view(const Instance* instance = nullptr) const { return {tree, nics, groups, instance}; }

  Tree tree;
  std::vector<Nic> nics;
  RailGroups groups;
};

/// A switch with two GPUs, four EFA NICs and a NIC of another kind; an Ethernet NIC behind two ports of its own.
Tree one_switch() {
  Builder builder;
  const int numa = builder.numa(0);
  const int host = builder.host_bridge(numa, "0000:44");
  const int upstream = builder.bridge(builder.bridge(host, "0000:44:00.0"), "0000:45:00.0");
  const auto port = [&](const std::string& device) { return builder.bridge(upstream, "0000:46:" + device + ".0"); };
  builder.efa(port("00"), "0000:55:00.0");
  builder.efa(port("01"), "0000:56:00.0");
  builder.efa(port("02"), "0000:57:00.0");
  builder.efa(port("03"), "0000:58:00.0");
  builder.gpu(port("04"), "0000:59:00.0");
  builder.gpu(port("05"), "0000:5a:00.0");
  builder.nic(port("06"), "0000:5b:00.0", 0x15b3, 0x1021);
  const int other = builder.host_bridge(numa, "0000:80");
  builder.nic(builder.bridge(builder.bridge(other, "0000:80:01.0"), "0000:81:00.0"), "0000:82:00.0", 0x1d0f, 0xec20);
  Tree tree = builder.take();
  tree.instance_type = "x1.large";
  for (Node& node : tree.nodes) {
    if (node.kind == Kind::kNic) node.name = "nic" + node.address.text().substr(5, 2);
    if (node.vendor == 0x15b3) node.driver = "mlx5_core";
  }
  return tree;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(BranchTest, BridgesThatLeadToOneThingAreNoBranches) {
  const Tree tree = one_switch();
  const Branch machine = branch_at(tree, 0);
  ASSERT_EQ(machine.below.size(), 1U);
  const Branch& numa = machine.below[0];
  ASSERT_EQ(numa.below.size(), 1U);
  EXPECT_EQ(numa.below[0].chain.size(), 3U) << "host bridge, root port and upstream port are one branch";
  EXPECT_EQ(branch_name(tree, numa.below[0]), "switch 0000:45:00.0");
  EXPECT_EQ(numa.below[0].devices.size(), 7U);
  ASSERT_EQ(numa.devices.size(), 1U) << "the NIC alone on its host bridge";
  EXPECT_EQ(tree.nodes[static_cast<std::size_t>(numa.devices[0])].name, "nic82");
}

TEST(BranchTest, HoldsEveryDeviceOnce) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 200; ++i) {
    const Tree tree = random_machine(random);
    std::vector<int> seen;
    const auto collect = [&](const auto& self, const Branch& branch) -> void {
      seen.insert(seen.end(), branch.devices.begin(), branch.devices.end());
      for (const Branch& part : branch.below) self(self, part);
    };
    collect(collect, branch_at(tree, 0));
    std::vector<int> devices = tree.all(Kind::kGpu);
    std::ranges::copy(tree.all(Kind::kNic), std::back_inserter(devices));
    std::ranges::sort(devices);
    std::ranges::sort(seen);
    ASSERT_EQ(seen, devices);
  }
}

TEST(TextViewTest, ShowsTheMachineAsATree) {
  const Machine machine(one_switch());
  const auto lines = lines_of(text_view(machine.view(&kInstance)));
  ASSERT_GE(lines.size(), 11U);
  EXPECT_THAT(
      std::vector(lines.begin(), lines.begin() + 11),
      ElementsAre(
          "x1.large: EFAv9 (0xefa1), 4 NICs in use, 400 Gb/s, 2 GPUs, 2 devices",
          "└─ NUMA node 0",                                                        //
          "   ├─ 0000:82:00.0  nic82            (not used: not EFA)",              //
          "   └─ switch 0000:45:00.0 (below host bridge 0000:44 → 0000:44:00.0)",  //
          "      ├─ 0000:55:00.0  nic55  100 Gb/s  device 0", "      ├─ 0000:56:00.0  nic56  100 Gb/s  device 0",
          "      ├─ 0000:57:00.0  nic57  100 Gb/s  device 1", "      ├─ 0000:58:00.0  nic58  100 Gb/s  device 1",
          "      ├─ 0000:59:00.0  GPU 0            device 0", "      ├─ 0000:5a:00.0  GPU 1            device 1",
          "      └─ 0000:5b:00.0  nic5b            (not used: driver mlx5_core)"));
}

TEST(TextViewTest, NamesDevicesRemarksAndSettings) {
  Machine machine(one_switch());
  machine.groups.remarks = {"a remark"};
  machine.tree.oddities = {"an oddity with an escape \x1b[2J"};
  const std::string text = text_view(machine.view(&kInstance));
  EXPECT_THAT(text, HasSubstr("\n  device 0: nic55 + nic56, 200 Gb/s, for GPU 0\n"));
  EXPECT_THAT(text, HasSubstr("\n  device 1: nic57 + nic58, 200 Gb/s, for GPU 1\n"));
  EXPECT_THAT(text, HasSubstr("\n  - a remark\n  - an oddity with an escape ?[2J\n"));
  EXPECT_THAT(text, HasSubstr("\n  NCCL_BUFFSIZE=8388608          # Because of this.\n"
                              "  NCCL_P2P_NET_CHUNKSIZE=524288  # Because of that.\n"));
}

TEST(TextViewTest, SaysSoWhereThereAreFewerNicsOrNoneOrNoSuchInstance) {
  Machine machine(one_switch());
  machine.nics.resize(2);
  machine.groups = group_rails(machine.tree, machine.nics, {});
  EXPECT_THAT(text_view(machine.view(&kInstance)), HasSubstr(" 2 of 4 NICs in use, 200 Gb/s"));
  EXPECT_THAT(text_view(machine.view()), HasSubstr("x1.large is not in Weft's table of instances"));
  const Machine nothing{Tree{}};
  const std::string text = text_view(nothing.view());
  EXPECT_THAT(text, HasSubstr("machine of unknown type: 0 NICs in use, 0 GPUs, 0 devices"));
  EXPECT_THAT(text, HasSubstr("No EFA NIC"));
  EXPECT_THAT(text, Not(HasSubstr("table of instances")));
}

TEST(TextViewTest, CallsNoSumWhereASpeedIsUnknown) {
  Machine machine(one_switch());
  machine.nics[1].speed_mbps = 0;
  const std::string text = text_view(machine.view());
  EXPECT_THAT(text, HasSubstr("4 NICs in use, 2 GPUs"));
  EXPECT_THAT(text, HasSubstr("device 0: nic55 + nic56, for GPU 0"));
  EXPECT_THAT(text, HasSubstr("device 1: nic57 + nic58, 200 Gb/s"));
}

TEST(JsonViewTest, KeepsItsShape) {
  const Machine machine(one_switch());
  const json shown = json::parse(json_view(machine.view(&kInstance)));
  EXPECT_EQ(shown.at("format"), 1);
  EXPECT_EQ(shown.at("instance_type"), "x1.large");
  EXPECT_EQ(shown.at("instance").at("efa"), "EFAv9 (0xefa1)");
  EXPECT_EQ(shown.at("speed_mbps"), 400'000);
  EXPECT_EQ(shown.at("devices"), json::parse(R"([
    {"device": 0, "nics": ["nic55", "nic56"], "speed_mbps": 200000, "gpus": ["0000:59:00.0"]},
    {"device": 1, "nics": ["nic57", "nic58"], "speed_mbps": 200000, "gpus": ["0000:5a:00.0"]}])"));
  EXPECT_EQ(shown.at("nics").at(3), json::parse(R"({"name": "nic58", "address": "0000:58:00.0", "speed_mbps": 100000,
                                                    "device": 1, "rail": 1})"));
  EXPECT_EQ(shown.at("gpus").at(1),
            json::parse(R"({"name": "GPU 1", "address": "0000:5a:00.0", "numa": 0, "device": 1})"));
  EXPECT_EQ(shown.at("nccl_settings").at(0).at("variable"), "NCCL_BUFFSIZE");
  const json& numa = shown.at("tree").at("children").at(0);
  EXPECT_EQ(numa.at("kind"), "numa");
  const json& upstream = numa.at("children").at(0).at("children").at(0).at("children").at(0);
  EXPECT_EQ(upstream.at("address"), "0000:45:00.0");
  const json& unused = upstream.at("children").at(6).at("children").at(0);
  EXPECT_EQ(unused.at("driver"), "mlx5_core");
  EXPECT_EQ(unused.at("vendor"), "0x15b3");
  EXPECT_EQ(unused.at("used"), false);
  EXPECT_EQ(unused.at("speed_mbps"), nullptr);
}

TEST(JsonViewTest, SurvivesNamesThatAreNotUtf8AndNicsWithoutAPlace) {
  Machine machine(one_switch());
  machine.nics = {{"bad\xff", std::nullopt, 0}};
  machine.groups = group_rails(machine.tree, machine.nics, {});
  machine.tree.instance_type.clear();
  const json shown = json::parse(json_view(machine.view()));
  EXPECT_EQ(shown.at("instance_type"), nullptr);
  EXPECT_EQ(shown.at("instance"), nullptr);
  EXPECT_EQ(shown.at("nics").at(0).at("address"), nullptr);
  EXPECT_EQ(shown.at("nics").at(0).at("device"), 0);
}

TEST(SvgViewTest, DrawsEveryDeviceOnceAndColoursByDevice) {
  const Machine machine(one_switch());
  const std::string svg = svg_view(machine.view(&kInstance));
  for (const int nic : machine.tree.all(Kind::kNic)) {
    EXPECT_EQ(count(svg, ">" + machine.tree.nodes[static_cast<std::size_t>(nic)].name + "<"), 1U);
  }
  EXPECT_EQ(count(svg, ">device 1, rail 1<"), 1U);
  // Two NICs of either device; the legend has one more of the first's colour.
  EXPECT_EQ(count(svg, "fill=\"#dbe9f9\""), 3U);
  EXPECT_EQ(count(svg, "fill=\"#fde6d0\""), 2U);
  EXPECT_THAT(svg, HasSubstr(">not used: driver mlx5_core<"));
  EXPECT_THAT(svg, Not(HasSubstr("script")));
}

TEST(SvgViewTest, EscapesNamesAndShowsNicsWithoutAPlace) {
  Machine machine(one_switch());
  machine.tree.instance_type = "<b>&\"\x01";
  machine.nics.push_back({"a<b>", std::nullopt, 100'000});
  machine.groups = group_rails(machine.tree, machine.nics, {});
  const std::string svg = svg_view(machine.view());
  EXPECT_THAT(svg, HasSubstr("<title>&lt;b&gt;&amp;&quot;?</title>"));
  EXPECT_THAT(svg, HasSubstr(">place unknown<"));
  EXPECT_EQ(count(svg, ">a&lt;b&gt;<"), 1U);
}

TEST(SvgViewTest, StaysWithinItsWidth) {
  std::vector<Tree> trees;
  trees.push_back(Tree{});
  for (const int switches : {1, 2, 8, 14}) trees.push_back(machine(switches, 2, 4));
  std::mt19937_64 random(11);
  for (int i = 0; i < 100; ++i) trees.push_back(random_machine(random));
  for (Tree& tree : trees) {
    const Machine machine(std::move(tree));
    const std::string svg = svg_view(machine.view());
    const auto number = [&](const std::string& name, std::size_t from) {
      return std::stoi(svg.substr(svg.find(name + "=\"", from) + name.size() + 2));
    };
    const int width = number("width", 0), height = number("height", 0);
    EXPECT_LE(width, 1200);
    for (auto at = svg.find("<rect x="); at != std::string::npos; at = svg.find("<rect x=", at + 1)) {
      ASSERT_LE(number(" x", at) + number(" width", at), width);
      ASSERT_LE(number(" y", at) + number(" height", at), height);
    }
  }
}

}  // namespace
}  // namespace weft::topology
