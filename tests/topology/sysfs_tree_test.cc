// Trees from the kernel's files: a machine of our making below a folder, then what containers and kernels do to it.
#include "topology/sysfs_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/plugin/fake_root.h"
#include "topology/rail_groups.h"

namespace weft::topology {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class SysfsTreeTest : public testing::Test {
 protected:
  /// `path`: as in /sys/devices, "pci0000:10/0000:10:01.0/0000:11:00.0".
  std::string add(const std::string& path, const std::string& vendor, const std::string& device,
                  const std::string& pci_class, const std::string& numa = "0") {
    const std::string folder = "sys/devices/" + path;
    root_.write(folder + "/vendor", vendor + "\n");
    root_.write(folder + "/device", device + "\n");
    root_.write(folder + "/class", pci_class + "\n");
    root_.write(folder + "/numa_node", numa + "\n");
    root_.write(folder + "/max_link_speed", "16.0 GT/s PCIe\n");
    root_.write(folder + "/max_link_width", "16\n");
    fs::create_directories(root_.path() / "sys/bus/pci/devices");
    fs::create_symlink(root_.path() / folder, root_.path() / "sys/bus/pci/devices" / fs::path(path).filename());
    return folder;
  }
  std::string add_gpu(const std::string& path, const std::string& numa = "0") {
    return add(path, "0x10de", "0x2330", "0x030200", numa);
  }
  std::string add_efa(const std::string& path, const std::string& name, const std::string& numa = "0") {
    const std::string folder = add(path, "0x1d0f", "0xefa1", "0x020000", numa);
    root_.write(folder + "/infiniband/" + name + "/node_guid", "0200:00ab:0012:3401\n");
    root_.write(folder + "/infiniband/" + name + "/ports/1/rate", "100 Gb/sec (4X EDR)\n");
    fs::create_symlink("/sys/bus/pci/drivers/efa", root_.path() / folder / "driver");
    return folder;
  }
  Tree read() { return read_sysfs(root_.path()); }
  static const Node& at(const Tree& tree, const char* address) {
    const int index = tree.find(PciAddress::parse(address).value());
    EXPECT_GE(index, 0) << address;
    return tree.nodes.at(static_cast<std::size_t>(index));
  }

  test::FakeRoot root_;
};

TEST_F(SysfsTreeTest, ReadsAMachine) {
  root_.write("sys/devices/virtual/dmi/id/product_name", "p5.48xlarge\n");
  add("pci0000:10/0000:10:01.0", "0x1d0f", "0x0200", "0x060400", "1");
  add_gpu("pci0000:10/0000:10:01.0/0000:11:00.0", "1");
  add_efa("pci0000:10/0000:10:01.0/0000:11:01.0", "rdmap17s1", "1");
  add("pci0000:10/0000:10:02.0", "0x1d0f", "0x8061", "0x010802", "1");  // a disk
  const Tree tree = read();
  EXPECT_EQ(tree.instance_type, "p5.48xlarge");
  EXPECT_THAT(tree.oddities, IsEmpty());
  ASSERT_EQ(tree.nodes.size(), 6U) << "machine, NUMA node, host bridge, bridge, GPU, NIC";
  const Node& nic = at(tree, "0000:11:01.0");
  EXPECT_TRUE(nic.is_efa());
  EXPECT_EQ(nic.name, "rdmap17s1");
  EXPECT_EQ(nic.driver, "efa");
  EXPECT_EQ(nic.speed_mbps, 100'000);
  EXPECT_EQ(nic.node_guid, 0x0200'00ab'0012'3401U);
  EXPECT_DOUBLE_EQ(nic.link_gbps, 256);
  const Node& gpu = at(tree, "0000:11:00.0");
  EXPECT_EQ(gpu.name, "GPU 0");
  EXPECT_EQ(gpu.parent, nic.parent);
  const int bridge = nic.parent;
  EXPECT_EQ(tree.nodes[static_cast<std::size_t>(bridge)].kind, Kind::kBridge);
  EXPECT_EQ(tree.numa_of(bridge), 1);
}

TEST_F(SysfsTreeTest, DevicesOnOneBusMeetAtTheHostBridge) {
  add_gpu("pci0000:10/0000:10:1c.0"), add_gpu("pci0000:10/0000:10:1d.0");
  add_efa("pci0000:10/0000:10:1b.0", "efa_0");
  const Tree tree = read();
  const auto meet =
      tree.common_ancestor(tree.find(*PciAddress::parse("10:1b.0")), tree.find(*PciAddress::parse("10:1d.0")));
  EXPECT_EQ(tree.nodes[static_cast<std::size_t>(meet)].kind, Kind::kHostBridge);
}

TEST_F(SysfsTreeTest, AMachineWithoutNumaNodesHangsOnTheRoot) {
  add_gpu("pci0000:10/0000:10:1c.0", "-1");
  const Tree tree = read();
  EXPECT_THAT(tree.all(Kind::kNuma), IsEmpty());
  EXPECT_EQ(tree.numa_of(tree.find(*PciAddress::parse("10:1c.0"))), -1);
}

TEST_F(SysfsTreeTest, AHiddenSysIsNamedAndLeavesTheRoot) {
  const Tree tree = read();
  EXPECT_EQ(tree.nodes.size(), 1U);
  EXPECT_THAT(tree.oddities, ElementsAre(HasSubstr("cannot be read")));
}

TEST_F(SysfsTreeTest, ADeviceThatSaysNothingIsNamedAndLeftOut) {
  add_gpu("pci0000:10/0000:10:1c.0");
  fs::create_directories(root_.path() / "sys/bus/pci/devices/0000:66:00.0");
  const Tree tree = read();
  EXPECT_EQ(tree.all(Kind::kGpu).size(), 1U);
  EXPECT_THAT(tree.oddities, ElementsAre(HasSubstr("0000:66:00.0")));
}

TEST_F(SysfsTreeTest, AFolderThatIsNoAddressIsNamedAndLeftOut) {
  add_gpu("pci0000:10/zebra");
  EXPECT_THAT(read().oddities, ElementsAre(HasSubstr("zebra")));
}

TEST_F(SysfsTreeTest, ANicWithoutFilesOfItsDriverKeepsItsAddressAsName) {
  add("pci0000:10/0000:10:1b.0", "0x1d0f", "0xefa2", "0x020000");
  const Tree tree = read();
  const Node& nic = at(tree, "10:1b.0");
  EXPECT_EQ(nic.name, "0000:10:1b.0");
  EXPECT_EQ(nic.speed_mbps, 0);
  EXPECT_EQ(nic.node_guid, 0U);
}

TEST_F(SysfsTreeTest, AnInterfaceIsNamedByItself) {
  const std::string folder = add("pci0000:10/0000:10:1b.0", "0x1d0f", "0xec20", "0x020000");
  root_.write(folder + "/net/ens32/mtu", "9001\n");
  const Tree tree = read();
  EXPECT_EQ(at(tree, "10:1b.0").name, "ens32");
  EXPECT_FALSE(at(tree, "10:1b.0").is_efa());
}

TEST_F(SysfsTreeTest, LinksThatDoNotSayTheirWidthAreUnknown) {
  const std::string folder = add_gpu("pci0000:10/0000:10:1c.0");
  for (const char* width : {"255", "0", "", "x"}) {
    root_.write(folder + "/max_link_width", width);
    EXPECT_EQ(at(read(), "10:1c.0").link_gbps, 0) << width;
  }
  root_.write(folder + "/max_link_width", "8");
  EXPECT_EQ(at(read(), "10:1c.0").link_gbps, 128);
  root_.write(folder + "/max_link_speed", "Unknown");
  EXPECT_EQ(at(read(), "10:1c.0").link_gbps, 0);
}

TEST_F(SysfsTreeTest, TheSlowerEndOfALinkCounts) {
  const std::string port = add("pci0000:10/0000:10:01.0", "0x1d0f", "0x0200", "0x060400");
  add_gpu("pci0000:10/0000:10:01.0/0000:11:00.0");
  root_.write(port + "/max_link_speed", "8.0 GT/s PCIe\n");
  root_.write(port + "/max_link_width", "4\n");
  EXPECT_EQ(at(read(), "11:00.0").link_gbps, 32);
  EXPECT_EQ(at(read(), "10:01.0").link_gbps, 32);
}

TEST_F(SysfsTreeTest, ANicWithoutItsFileInDevIsWithheld) {
  const std::string folder = add_efa("pci0000:10/0000:10:1b.0", "efa_0");
  EXPECT_FALSE(at(read(), "10:1b.0").is_withheld) << "/sys names no file";
  root_.write(folder + "/infiniband_verbs/uverbs3/ibdev", "efa_0\n");
  EXPECT_TRUE(at(read(), "10:1b.0").is_withheld);
  EXPECT_THAT(efa_nics(read()), IsEmpty());
  root_.write("dev/infiniband/uverbs3", "");
  EXPECT_FALSE(at(read(), "10:1b.0").is_withheld);
}

TEST_F(SysfsTreeTest, AGpuWithoutItsFileInDevIsWithheld) {
  add_gpu("pci0000:10/0000:10:1c.0");
  EXPECT_FALSE(at(read(), "10:1c.0").is_withheld);
  root_.write("proc/driver/nvidia/gpus/0000:10:1c.0/information", "Model: \t H100\nDevice Minor: \t 4\n");
  EXPECT_TRUE(at(read(), "10:1c.0").is_withheld);
  root_.write("dev/nvidia4", "");
  EXPECT_FALSE(at(read(), "10:1c.0").is_withheld);
}

TEST_F(SysfsTreeTest, ALoopOfLinksIsNoReasonToStop) {
  fs::create_directories(root_.path() / "sys/bus/pci/devices");
  fs::create_symlink("0000:10:00.0", root_.path() / "sys/bus/pci/devices/0000:10:00.0");
  EXPECT_THAT(read().oddities, Contains(HasSubstr("0000:10:00.0")));
}

TEST_F(SysfsTreeTest, KnowsWhatIsAGpuAndWhatIsANic) {
  EXPECT_EQ(kind_of_device(0x10de, 0x2330, 0x030200), Kind::kGpu);
  EXPECT_EQ(kind_of_device(0x10de, 0x1db1, 0x030000), Kind::kGpu);
  EXPECT_EQ(kind_of_device(0x10de, 0x22a3, 0x068000), std::nullopt) << "an NVSwitch is no GPU";
  EXPECT_EQ(kind_of_device(0x1d0f, 0x1111, 0x030000), std::nullopt) << "EC2's console is no GPU";
  EXPECT_EQ(kind_of_device(0x1d0f, 0x7164, 0x088000), Kind::kGpu) << "Trainium";
  EXPECT_EQ(kind_of_device(0x15b3, 0x101e, 0x020700), Kind::kNic) << "InfiniBand";
  EXPECT_EQ(kind_of_device(0x1d0f, 0x8061, 0x010802), std::nullopt) << "a disk";
}

}  // namespace
}  // namespace weft::topology
