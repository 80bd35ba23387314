// What NCCL makes of the topology file: read here as strictly as its own parser does.
#include "topology/nccl_xml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/topology/machines.h"

namespace weft::topology {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Element {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::vector<Element> below;

  std::string at(const std::string& key) const {
    const auto found = attributes.find(key);
    return found == attributes.end() ? "" : found->second;
  }
  std::vector<std::string> bus_ids() const {
    std::vector<std::string> ids;
    for (const Element& each : below) ids.push_back(each.at("busid"));
    return ids;
  }
};

/// NCCL's grammar (src/graph/xml.cc): one space before an attribute, double quotes, no entities, no declaration.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Element document() {
    Element root = element();
    blank();
    EXPECT_TRUE(text_.empty()) << "after the root: " << text_;
    EXPECT_LT(elements_, 256);
    return root;
  }

 private:
  void blank() { text_.remove_prefix(std::min(text_.find_first_not_of(" \n"), text_.size())); }
  bool take(std::string_view part) {
    const bool found = text_.starts_with(part);
    if (found) text_.remove_prefix(part.size());
    return found;
  }
  std::string until(std::string_view ends) {
    const auto end = std::min(text_.find_first_of(ends), text_.size());
    std::string word(text_.substr(0, end));
    text_.remove_prefix(end);
    return word;
  }
  Element element() {
    ++elements_;
    blank();
    Element made;
    if (!take("<")) ADD_FAILURE() << "no element: " << text_.substr(0, 40);
    made.name = until(" />");
    while (take(" ")) {
      const std::string key = until("=");
      if (!take("=\"")) ADD_FAILURE() << "no value of " << key;
      const std::string value = until("\"");
      EXPECT_LT(value.size(), 255U);
      EXPECT_TRUE(made.attributes.emplace(key, value).second) << key << " twice";
      take("\"");
    }
    EXPECT_LE(made.attributes.size(), 16U);
    if (take("/>")) return made;
    if (!take(">")) ADD_FAILURE() << "unclosed: " << text_.substr(0, 40);
    for (blank(); !take("</"); blank()) {
      if (text_.empty()) {
        ADD_FAILURE() << "unterminated " << made.name;
        return made;
      }
      made.below.push_back(element());
    }
    EXPECT_EQ(until(">"), made.name);
    take(">");
    return made;
  }

  std::string_view text_;
  int elements_ = 0;
};

/// GB/s of a link as NCCL counts (topo.cc, kvDictPciGen); 0 where the file leaves it to NCCL.
double link_of(const Element& pci) {
  static const std::map<std::string, int> kSpeeds{{"2.5 GT/s PCIe", 15},
                                                  {"5.0 GT/s PCIe", 30},
                                                  {"8.0 GT/s PCIe", 60},
                                                  {"16.0 GT/s PCIe", 120},
                                                  {"32.0 GT/s PCIe", 240}};
  if (pci.at("link_width").empty()) return 0;
  const auto speed = kSpeeds.find(pci.at("link_speed"));
  EXPECT_NE(speed, kSpeeds.end()) << pci.at("link_speed");
  return speed == kSpeeds.end() ? 0 : std::stoi(pci.at("link_width")) * speed->second / 80.0;
}

Element parse(const Tree& tree, std::span<const Nic> nics, int rails = 0,
              const std::optional<Processor>& processor = std::nullopt) {
  const RailGroups groups = group_rails(tree, nics, {.rails = rails});
  return Parser(nccl_xml({tree, nics, groups, nullptr}, processor)).document();
}
Element parse(const Tree& tree, int rails = 0) { return parse(tree, efa_nics(tree), rails); }

void set_link(Tree& tree, const std::string& address, double gbps) {
  tree.nodes.at(static_cast<std::size_t>(tree.find(PciAddress::parse(address).value()))).link_gbps = gbps;
}

/// A switch as PCI has it: an upstream port below a root port, each device below a downstream port of its own.
struct Switch {
  Switch(Builder& builder, int numa, const std::string& host)
      : build(builder),
        upstream(builder.bridge(builder.bridge(builder.host_bridge(numa, "0000:" + host), host + ":00.0"),
                                host.substr(0, 1) + "5:00.0")),
        bus(host.substr(0, 1) + "6:") {}
  int port() { return build.bridge(upstream, bus + "0" + std::to_string(ports++) + ".0"); }

  Builder& build;
  int upstream;
  std::string bus;
  int ports = 0;
};

/// One switch, four EFA NICs of 100 Gb/s on links of 128 GT/s, one GPU on one of 512.
Tree p5_like() {
  Builder builder;
  Switch one(builder, builder.numa(0), "44");
  for (const char* nic : {"4f:00.0", "50:00.0", "51:00.0", "52:00.0"}) builder.efa(one.port(), nic);
  builder.gpu(one.port(), "53:00.0");
  Tree tree = builder.take();
  for (const char* nic : {"4f:00.0", "50:00.0", "51:00.0", "52:00.0"}) set_link(tree, nic, 128);
  for (const char* wide : {"45:00.0", "53:00.0"}) set_link(tree, wide, 512);
  return tree;
}

TEST(NcclXmlTest, NestsTheLeadAndTheGpuInTheirSwitchsUpstreamPort) {
  const Element root = parse(p5_like());
  EXPECT_EQ(root.name, "system");
  EXPECT_EQ(root.at("version"), "1");
  ASSERT_EQ(root.below.size(), 1U);
  EXPECT_EQ(root.below[0].name, "cpu");
  EXPECT_EQ(root.below[0].at("numaid"), "0");
  EXPECT_THAT(root.below[0].bus_ids(), ElementsAre("0000:45:00.0"));
  const Element& upstream = root.below[0].below[0];
  EXPECT_EQ(upstream.at("class"), "0x060400");
  EXPECT_THAT(upstream.bus_ids(), ElementsAre("0000:4f:00.0", "0000:53:00.0"));
  EXPECT_EQ(upstream.below[0].at("vendor"), "0x1d0f");
  EXPECT_EQ(upstream.below[0].at("device"), "0xefa1");
  EXPECT_EQ(upstream.below[0].at("class"), "0x020000");
  EXPECT_EQ(upstream.below[1].at("class"), "0x030200");
  EXPECT_THAT(upstream.below[1].below, IsEmpty()) << "<gpu> is NCCL's own";
}

TEST(NcclXmlTest, LeadCarriesAllRails) {
  const Element together = parse(p5_like()).below[0].below[0];
  EXPECT_GE(link_of(together.below[0]), 400 / 8.0);
  EXPECT_DOUBLE_EQ(link_of(together.below[1]), 48) << "the GPU's link is as it is";
  EXPECT_DOUBLE_EQ(link_of(together), 48) << "and so is the switch's, which all rails share";
  const Element apart = parse(p5_like(), 1).below[0].below[0];
  ASSERT_EQ(apart.below.size(), 5U);
  for (int nic = 0; nic < 4; ++nic) {
    EXPECT_GE(link_of(apart.below[static_cast<std::size_t>(nic)]), 100 / 8.0);
    EXPECT_LT(link_of(apart.below[static_cast<std::size_t>(nic)]), 100 / 8.0 * 1.5);
  }
}

TEST(NcclXmlTest, WidensBridgesThatOnlyTheLeadIsBelow) {
  // Two switches below a third one; the device has a NIC in each, and the GPU is beside them.
  Builder builder;
  Switch top(builder, builder.numa(0), "10");
  const int left = builder.bridge(top.port(), "20:00.0"), right = builder.bridge(top.port(), "30:00.0");
  builder.efa(builder.bridge(left, "21:00.0"), "22:00.0", 200);
  builder.efa(builder.bridge(right, "31:00.0"), "32:00.0", 200);
  builder.gpu(top.port(), "40:00.0");
  Tree tree = builder.take();
  for (const char* each : {"15:00.0", "20:00.0", "22:00.0", "30:00.0", "32:00.0"}) set_link(tree, each, 256);
  const Element upstream = parse(tree).below[0].below[0];
  EXPECT_EQ(upstream.at("busid"), "0000:15:00.0");
  EXPECT_LT(link_of(upstream), 30) << "both rails are below: no traffic that is not its own";
  EXPECT_THAT(upstream.bus_ids(), ElementsAre("0000:20:00.0", "0000:40:00.0")) << "the follower is not for NCCL";
  EXPECT_GE(link_of(upstream.below[0]), 400 / 8.0 - 1);
  EXPECT_GE(link_of(upstream.below[0].below.at(0)), 400 / 8.0);
}

TEST(NcclXmlTest, TrustsPortsMoreThanVirtualLinks) {
  Tree tree = p5_like();
  set_link(tree, "4f:00.0", 2.5);
  set_link(tree, "45:00.0", 8);
  const Element upstream = parse(tree, 1).below[0].below[0];
  EXPECT_GE(link_of(upstream), 100 / 8.0);
  EXPECT_GE(link_of(upstream.below[0]), 100 / 8.0);
}

TEST(NcclXmlTest, LeavesUnknownLinksToNccl) {
  Tree tree = p5_like();
  for (Node& node : tree.nodes) node.link_gbps = node.speed_mbps = 0;
  const Element upstream = parse(tree).below[0].below[0];
  EXPECT_EQ(upstream.at("link_width"), "");
  for (const Element& device : upstream.below) EXPECT_EQ(device.at("link_speed"), "");
}

TEST(NcclXmlTest, WritesLinksThatExistAsTheyAre) {
  const std::map<double, std::pair<std::string, std::string>> links{{20, {"2.5 GT/s PCIe", "8"}},
                                                                    {64, {"8.0 GT/s PCIe", "8"}},
                                                                    {128, {"8.0 GT/s PCIe", "16"}},
                                                                    {252.06, {"16.0 GT/s PCIe", "16"}},
                                                                    {512, {"32.0 GT/s PCIe", "16"}}};
  for (const auto& [gbps, written] : links) {
    Tree tree = p5_like();
    set_link(tree, "53:00.0", gbps);
    const Element gpu = parse(tree).below[0].below[0].below[1];
    EXPECT_EQ(gpu.at("link_speed"), written.first) << gbps;
    EXPECT_EQ(gpu.at("link_width"), written.second) << gbps;
  }
}

TEST(NcclXmlTest, GivesTheProcessorWhereItIsKnown) {
  const Tree tree = p5_like();
  const auto nics = efa_nics(tree);
  const Element intel = parse(tree, nics, 0, Processor{"x86_64", "GenuineIntel", 6, 143}).below[0];
  EXPECT_EQ(intel.at("arch"), "x86_64");
  EXPECT_EQ(intel.at("vendor"), "GenuineIntel");
  EXPECT_EQ(intel.at("familyid"), "6");
  EXPECT_EQ(intel.at("modelid"), "143");
  const Element arm = parse(tree, nics, 0, Processor{.arch = "arm64", .vendor = {}}).below[0];
  EXPECT_EQ(arm.at("arch"), "arm64");
  EXPECT_EQ(arm.attributes.count("vendor"), 0U);
  EXPECT_EQ(parse(tree, nics).below[0].attributes.count("arch"), 0U);
  const auto own = own_processor();
#if defined(__x86_64__) || defined(__aarch64__)
  ASSERT_TRUE(own);
  EXPECT_EQ(own->vendor.empty(), own->arch != "x86_64");
#else
  EXPECT_FALSE(own);
#endif
}

TEST(NcclXmlTest, HasProcessorsOnlyWhereSomethingHangsOnThem) {
  Builder builder;
  builder.numa(0);
  Switch second(builder, builder.numa(1), "84");
  builder.gpu(second.port(), "90:00.0");
  builder.gpu(builder.host_bridge(0, "0000:c0"), "c0:01.0");
  const Element root = parse(builder.take());
  ASSERT_EQ(root.below.size(), 2U);
  EXPECT_EQ(root.below[0].at("numaid"), "-1") << "as the kernel says where there is no NUMA node";
  EXPECT_THAT(root.below[0].bus_ids(), ElementsAre("0000:c0:01.0"));
  EXPECT_EQ(root.below[1].at("numaid"), "1");
}

TEST(NcclXmlTest, PutsASwitchBackWhereAVirtualMachineHidesIt) {
  Builder builder;
  const int numa = builder.numa(0);
  for (const std::string bus : {"10", "20"}) {  // as P4d
    const int host = builder.host_bridge(numa, "0000:" + bus);
    builder.efa(host, bus + ":1b.0");
    builder.gpu(host, bus + ":1c.0");
    builder.gpu(host, bus + ":1d.0");
  }
  const Tree tree = builder.take();
  const Element cpu = parse(tree).below[0];
  ASSERT_EQ(cpu.below.size(), 2U);
  EXPECT_NE(cpu.below[0].at("busid"), cpu.below[1].at("busid"));
  EXPECT_TRUE(cpu.below[0].at("busid").starts_with("ffff:"));
  EXPECT_THAT(cpu.below[0].bus_ids(), ElementsAre("0000:10:1b.0", "0000:10:1c.0", "0000:10:1d.0"));
  EXPECT_THAT(cpu.below[1].bus_ids(), ElementsAre("0000:20:1b.0", "0000:20:1c.0", "0000:20:1d.0"));
  EXPECT_GT(link_of(cpu.below[0]), 0);
}

TEST(NcclXmlTest, TakesOneHostBridgeForTheProcessor) {
  Builder builder;
  const int host = builder.host_bridge(builder.numa(0), "0000:00");
  builder.efa(host, "00:1b.0");
  builder.gpu(host, "00:1c.0");
  EXPECT_THAT(parse(builder.take()).below[0].bus_ids(), ElementsAre("0000:00:1b.0", "0000:00:1c.0"));
}

TEST(NcclXmlTest, KeepsTogetherWhatHangsOnOnePort) {
  // Not a switch as PCI has it: NCCL alone would see the processor between GPU and NIC.
  const Element cpu = parse(machine(2, 1, 2)).below[0];
  ASSERT_EQ(cpu.below.size(), 1U);
  EXPECT_EQ(cpu.below[0].below.size(), 2U) << "GPU and lead";
}

TEST(NcclXmlTest, LeavesOutNicsWithoutAPlaceAndMindsItsGrammar) {
  Tree tree = p5_like();
  tree.instance_type = "<p5 \"48\"&xlarge>";
  const std::vector<Nic> nics{{"elsewhere", std::nullopt, 100'000}};
  const Element root = parse(tree, nics);
  EXPECT_EQ(root.at("name"), "p548xlarge");
  EXPECT_THAT(root.below[0].below[0].bus_ids(), ElementsAre("0000:53:00.0"));
  EXPECT_THAT(parse(Tree{}).below, IsEmpty());
}

TEST(NcclXmlTest, HasEveryGpuAndEveryLeadOnceOnAnyMachine) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 300; ++i) {
    const Tree tree = random_machine(random);
    const auto nics = efa_nics(tree);
    const RailGroups groups = group_rails(tree, nics, {});
    std::map<std::string, int> expected, seen;
    for (const int gpu : tree.all(Kind::kGpu)) ++expected[tree.nodes[static_cast<std::size_t>(gpu)].address.text()];
    for (const RailGroup& group : groups.groups) ++expected[nics[group.rails.front()].address->text()];
    const auto walk = [&](const auto& self, const Element& element) -> void {
      if (element.name == "pci" && element.below.empty()) ++seen[element.at("busid")];
      for (const Element& below : element.below) self(self, below);
    };
    walk(walk, parse(tree));
    ASSERT_EQ(seen, expected) << "machine " << i;
  }
}

}  // namespace
}  // namespace weft::topology
