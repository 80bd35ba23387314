#include "plugin/efa_hardware.h"

#include <gtest/gtest.h>

#include "tests/plugin/fake_root.h"

namespace weft::plugin {
namespace {

TEST(EfaHardwareTest, MachinesWithoutItHaveNone) {
  const test::FakeRoot root;
  EXPECT_FALSE(find_efa_hardware(root.path()).has_value()) << "no sysfs at all";
  root.add_pci_function("0000:00:05.0", "0x1d0f", "0xec20", "ena");
  root.add_pci_function("0000:00:06.0", "0x15b3", "0xefa1", "mlx5_core");
  EXPECT_FALSE(find_efa_hardware(root.path()).has_value()) << "Amazon's Ethernet, and another vendor's function";
}

TEST(EfaHardwareTest, CountsFunctionsDriversAndNodes) {
  const test::FakeRoot root;
  root.add_pci_function("0000:00:06.0", "0x1d0f", "0xefa0", "efa");
  root.add_pci_function("0000:00:07.0", "0x1d0f", "0xefa1", "efa");
  root.add_pci_function("0000:00:08.0", "0x1d0f", "0xefa3");
  root.add_pci_function("0000:00:09.0", "0x1d0f", "0xefa2", "vfio-pci");
  root.write("dev/infiniband/uverbs0", "");
  root.write("dev/infiniband/uverbs1", "");
  root.write("dev/infiniband/rdma_cm", "");
  const auto found = find_efa_hardware(root.path());
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->functions, 4);
  EXPECT_EQ(found->with_driver, 2);
  EXPECT_EQ(found->device_nodes, 2);
}

TEST(EfaHardwareTest, ExplainsTheFirstObstacle) {
  const std::string library = "/usr/lib/libfabric.so.1";
  const auto no_driver = explain_unusable({.functions = 4}, library);
  EXPECT_NE(no_driver.find("4 PCI functions"), std::string::npos);
  EXPECT_NE(no_driver.find("modprobe efa"), std::string::npos);
  const auto no_node = explain_unusable({.functions = 1, .with_driver = 1}, library);
  EXPECT_NE(no_node.find("/dev/infiniband"), std::string::npos);
  EXPECT_EQ(no_node.find("modprobe"), std::string::npos);
  const auto no_provider = explain_unusable({.functions = 1, .with_driver = 1, .device_nodes = 1}, library);
  EXPECT_NE(no_provider.find(library + " offers no efa provider"), std::string::npos);
}

}  // namespace
}  // namespace weft::plugin
