// hwloc's trees: XML that is no XML, and this machine against what its kernel says.
#include "topology/hwloc_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/plugin/fake_root.h"
#include "topology/sysfs_tree.h"

namespace weft::topology {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string xml_with(const std::string& inside) {
  return R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x1" complete_cpuset="0x1" allowed_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1" allowed_nodeset="0x1">
    <info name="DMIProductName" value="p5.48xlarge"/>
    <object type="NUMANode" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1" local_memory="1"/>
    <object type="PU" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1"/>
)" + inside +
         "  </object>\n</topology>\n";
}

class HwlocTreeTest : public testing::Test {
 protected:
  Result<Tree> read(const std::string& text) {
    root_.write("machine.xml", text);
    return Hwloc::open().value().read_xml(root_.path() / "machine.xml");
  }
  test::FakeRoot root_;
};

TEST_F(HwlocTreeTest, ReadsABridgeAndItsDevices) {
  const auto tree = read(xml_with(R"(
    <object type="Bridge" bridge_type="0-1" depth="0" bridge_pci="0000:[10-11]">
      <object type="Bridge" bridge_type="1-1" depth="1" bridge_pci="0000:[11-11]" pci_busid="0000:10:01.0" pci_type="0604 [1d0f:0200] [0000:0000] 00" pci_link_speed="63.0">
        <object type="PCIDev" pci_busid="0000:11:00.0" pci_type="0200 [1d0f:efa1] [1d0f:efa1] 00" pci_link_speed="63.0">
          <object type="OSDev" name="rdmap17s0" osdev_type="3"><info name="NodeGUID" value="0200:00ab:0012:3401"/></object>
        </object>
        <object type="PCIDev" pci_busid="0000:11:00.0" pci_type="0302 [10de:2330] [10de:2330] 00" pci_link_speed="63.0"/>
      </object>
    </object>)"));
  ASSERT_TRUE(tree) << tree.error().what;
  const int index = tree->find(PciAddress::parse("11:00.0").value());
  ASSERT_GE(index, 0);
  const Node& nic = tree->nodes[static_cast<std::size_t>(index)];
  EXPECT_TRUE(nic.is_efa());
  EXPECT_EQ(nic.name, "rdmap17s0");
  EXPECT_EQ(nic.node_guid, 0x0200'00ab'0012'3401U);
  EXPECT_EQ(nic.link_gbps, 512) << "32 GT/s by 16 lanes";
  EXPECT_EQ(nic.speed_mbps, 100'000) << "the instance table's";
  EXPECT_EQ(tree->numa_of(index), 0);
  EXPECT_EQ(tree->nodes[static_cast<std::size_t>(nic.parent)].kind, Kind::kBridge);
  EXPECT_THAT(tree->oddities, ElementsAre(HasSubstr("0000:11:00.0 stands twice")));
}

TEST_F(HwlocTreeTest, WhatIsNoXmlOfHwlocIsNamed) {
  for (const std::string& text : {std::string(), std::string("<topology>"), std::string("GIF89a"),
                                  xml_with("<object type=\"Bridge\""), xml_with("<info")}) {
    const auto tree = read(text);
    ASSERT_FALSE(tree) << text;
    EXPECT_EQ(tree.error().code, Code::kArgument);
    EXPECT_THAT(tree.error().what, HasSubstr("machine.xml"));
  }
}

TEST_F(HwlocTreeTest, AFileThatIsNoFileIsNamed) {
  const Hwloc hwloc = Hwloc::open().value();
  EXPECT_THAT(hwloc.read_xml(root_.path()).error().what, HasSubstr("is not a file"));
  EXPECT_THAT(hwloc.read_xml(root_.path() / "none.xml").error().what, HasSubstr("none.xml"));
}

/// hwloc's view and sysfs's of one machine: the same devices on the same bridges.
TEST_F(HwlocTreeTest, SeesThisMachineAsTheKernelSaysIt) {
  const auto tree = Hwloc::open().value().read_machine();
  ASSERT_TRUE(tree) << tree.error().what;
  const Tree plain = read_sysfs("/");
  const auto devices = [](const Tree& from) {
    std::vector<std::string> found;
    for (const Node& node : from.nodes) {
      if (node.kind != Kind::kGpu && node.kind != Kind::kNic) continue;
      const Node& above = from.nodes[static_cast<std::size_t>(node.parent)];
      found.push_back(node.address.text() + " " + node.name + " below " +
                      (above.kind == Kind::kBridge ? above.address.text() : "the host bridge"));
    }
    return found;
  };
  EXPECT_EQ(devices(*tree), devices(plain));
}

}  // namespace
}  // namespace weft::topology
