#include "plugin/discovery.h"

#include <gtest/gtest.h>

#include "tests/fabric_fake/fake_fabric.h"
#include "tests/plugin/fake_root.h"
#include "tests/support/log_capture.h"

namespace weft::plugin {
namespace {

using test::FakeFabric;
using test::FakeNic;
using test::FakeRoot;
using test::LogCapture;

FakeNic nic(std::string provider, std::string name, std::uint64_t more_caps = 0) {
  FakeNic fake;
  fake.provider = std::move(provider);
  fake.name = std::move(name);
  fake.caps |= more_caps;
  return fake;
}

void add_efa(const FakeRoot& root) { root.add_pci_function("0000:00:06.0", "0x1d0f", "0xefa1", "efa"); }

std::string provider_of(const Result<std::vector<fabric::Info>>& nics) {
  return nics.has_value() ? nics->front().provider() : nics.error().what;
}

TEST(DiscoveryTest, TakesEveryNicOfTheBestProvider) {
  const FakeRoot root;
  const FakeFabric fabric({.nics = {nic("tcp", "eth0"), nic("efa", "rdmap1"), nic("efa", "rdmap2")}});
  const auto nics = discover_nics(fabric.library(), {}, false, root.path());
  ASSERT_TRUE(nics.has_value()) << nics.error().what;
  ASSERT_EQ(nics->size(), 2U);
  EXPECT_EQ((*nics)[0].domain(), "rdmap1");
  EXPECT_EQ((*nics)[1].domain(), "rdmap2");
}

TEST(DiscoveryTest, NicsWithoutTaggedMessagesDoNotCount) {
  const FakeRoot root;
  auto untagged = nic("efa", "rdmap1");
  untagged.caps &= ~FI_TAGGED;
  const FakeFabric fabric({.nics = {untagged, nic("tcp", "eth0")}});
  EXPECT_EQ(provider_of(discover_nics(fabric.library(), {}, false, root.path())), "tcp");
}

TEST(DiscoveryTest, PrefersTheOfferThatServesGpuMemory) {
  const FakeRoot root;
  const FakeFabric fabric({.nics = {nic("efa", "rdmap1"), nic("efa", "rdmap1", FI_HMEM)}});
  const auto nics = discover_nics(fabric.library(), {}, true, root.path());
  ASSERT_TRUE(nics.has_value());
  ASSERT_EQ(nics->size(), 1U);
  EXPECT_NE(nics->front().get()->caps & FI_HMEM, 0U);
}

TEST(DiscoveryTest, ABetterProviderBeatsGpuMemory) {
  const FakeRoot root;
  const FakeFabric fabric({.nics = {nic("tcp", "eth0", FI_HMEM), nic("efa", "rdmap1")}});
  EXPECT_EQ(provider_of(discover_nics(fabric.library(), {}, true, root.path())), "efa");
}

TEST(DiscoveryTest, SaysWhenEfaHardwareIsNotOffered) {
  const FakeRoot root;
  add_efa(root);
  const FakeFabric fabric({.nics = {nic("tcp", "eth0")}});
  LogCapture::current().expect_warning("/dev/infiniband/uverbs*; pass /dev/infiniband into the container");
  EXPECT_EQ(provider_of(discover_nics(fabric.library(), {}, false, root.path())), "tcp");
  EXPECT_TRUE(LogCapture::current().has(log::Level::kWarn, "going on with tcp"));
}

TEST(DiscoveryTest, RequireMakesThatAnError) {
  const FakeRoot root;
  add_efa(root);
  const FakeFabric fabric({.nics = {nic("tcp", "eth0")}});
  Params params;
  params.require = true;
  const auto nics = discover_nics(fabric.library(), params, false, root.path());
  ASSERT_FALSE(nics.has_value());
  EXPECT_EQ(nics.error().code, Code::kMissing);
  EXPECT_NE(nics.error().what.find("EFA hardware is present (1 PCI functions) but unusable"), std::string::npos);
  EXPECT_NE(nics.error().what.find("WEFT_REQUIRE"), std::string::npos);
}

TEST(DiscoveryTest, RequireIsContentWhereThereIsNoEfaOrItWorks) {
  Params params;
  params.require = true;
  const FakeRoot root;
  const FakeFabric fabric({.nics = {nic("tcp", "eth0"), nic("efa", "rdmap1")}});
  params.interfaces = "eth";
  EXPECT_EQ(provider_of(discover_nics(fabric.library(), params, false, root.path())), "tcp") << "no EFA hardware";
  add_efa(root);
  params.interfaces = "";
  EXPECT_EQ(provider_of(discover_nics(fabric.library(), params, false, root.path())), "efa") << "EFA that works";
}

TEST(DiscoveryTest, ANamedProviderIsMeant) {
  const FakeRoot root;
  add_efa(root);
  const FakeFabric fabric({.nics = {nic("tcp", "eth0")}});
  Params params;
  params.provider = "tcp";
  EXPECT_EQ(provider_of(discover_nics(fabric.library(), params, false, root.path())), "tcp");
}

TEST(DiscoveryTest, AllIsLostInOneError) {
  const FakeRoot root;
  add_efa(root);
  const FakeFabric fabric({.nics = {nic("sockets", "eth0")}});
  const auto nics = discover_nics(fabric.library(), {}, false, root.path());
  ASSERT_FALSE(nics.has_value());
  EXPECT_NE(nics.error().what.find("EFA hardware is present"), std::string::npos);
  EXPECT_NE(nics.error().what.find("it offers: sockets"), std::string::npos);
}

TEST(DiscoveryTest, BadInterfaceListIsAnError) {
  const FakeRoot root;
  const FakeFabric fabric({.nics = {nic("tcp", "eth0")}});
  Params params;
  params.interfaces = "eth0,,";
  const auto nics = discover_nics(fabric.library(), params, false, root.path());
  ASSERT_FALSE(nics.has_value());
  EXPECT_EQ(nics.error().code, Code::kArgument);
}

TEST(DiscoveryTest, LooksInterfacesUpInSysfs) {
  const FakeRoot root;
  root.write("sys/class/net/lo/flags", "0x9\n");
  root.write("sys/class/net/eth0/flags", "0x1003\n");
  root.write("sys/class/net/eth0/carrier", "1\n");
  root.write("sys/class/net/eth1/flags", "0x1003\n");
  root.write("sys/class/net/eth1/carrier", "0\n");
  const FakeFabric fabric({.nics = {nic("tcp", "lo"), nic("tcp", "eth0"), nic("tcp", "eth1"), nic("tcp", "rdmap1")}});
  const auto infos = fabric.library().discover({.caps = FI_MSG | FI_TAGGED, .provider = ""});
  ASSERT_TRUE(infos.has_value());
  ASSERT_EQ(infos->size(), 4U);
  const auto lo = describe((*infos)[0], root.path());
  const auto eth0 = describe((*infos)[1], root.path());
  const auto eth1 = describe((*infos)[2], root.path());
  const auto rdmap1 = describe((*infos)[3], root.path());
  EXPECT_EQ(lo.domain, "lo");
  EXPECT_EQ(lo.provider, "tcp");
  EXPECT_TRUE(lo.is_loopback);
  EXPECT_TRUE(lo.has_carrier);
  EXPECT_FALSE(eth0.is_loopback);
  EXPECT_TRUE(eth0.has_carrier);
  EXPECT_FALSE(eth1.has_carrier);
  EXPECT_FALSE(rdmap1.is_loopback) << "not a network interface at all";
  EXPECT_TRUE(rdmap1.has_carrier);
}

}  // namespace
}  // namespace weft::plugin
