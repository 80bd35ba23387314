#include "transports/fabric/library.h"

#include <gtest/gtest.h>
#include <rdma/fi_errno.h>

#include "tests/fabric_fake/fake_fabric.h"
#include "tests/support/library_paths.h"
#include "transports/fabric/info.h"

namespace weft::fabric {
namespace {

std::string why_not(const std::string& path) {
  const auto library = Library::open(path);
  EXPECT_FALSE(library.has_value());
  if (library) return "";
  EXPECT_EQ(library.error().code, Code::kMissing);
  EXPECT_NE(library.error().what.find("WEFT_LIBFABRIC"), std::string::npos) << library.error().what;
  return library.error().what;
}

TEST(LibraryTest, MissingFileIsNamed) {
  EXPECT_NE(why_not("/nowhere/libfabric.so").find("/nowhere/libfabric.so"), std::string::npos);
}

TEST(LibraryTest, OtherLibraryIsRefused) {
  const std::string why = why_not(test::not_libfabric());
  EXPECT_NE(why.find("is not a libfabric"), std::string::npos) << why;
}

TEST(LibraryTest, IncompleteLibraryIsRefused) {
  const std::string why = why_not(test::incomplete_libfabric());
  EXPECT_NE(why.find("is not a libfabric"), std::string::npos) << why;
}

TEST(LibraryTest, OldLibraryIsRefusedWithBothVersions) {
  const std::string why = why_not(test::old_libfabric());
  EXPECT_NE(why.find("version 1.16 is older than 1.17"), std::string::npos) << why;
}

TEST(LibraryTest, NewLibraryIsAskedToBehaveLikeTheApiWeftKnows) {
  const auto library = Library::open(test::new_libfabric());
  ASSERT_TRUE(library.has_value()) << library.error().what;
  EXPECT_EQ(library->version(), FI_VERSION(2, 6));
  EXPECT_EQ(library->api_version(), Library::kMaxApiVersion);
  EXPECT_EQ(library->path(), test::new_libfabric());
}

TEST(LibraryTest, SearchFindsOneOrNamesEveryPlace) {
  const auto library = Library::open("");
  if (library) {
    EXPECT_GE(library->version(), Library::kMinVersion);
    EXPECT_FALSE(library->path().empty());
    return;
  }
  EXPECT_EQ(library.error().code, Code::kMissing);
  for (const char* part : {"libfabric.so.1", "/opt/amazon/efa/lib/", "/opt/amazon/efa/lib64/", "WEFT_LIBFABRIC"}) {
    EXPECT_NE(library.error().what.find(part), std::string::npos) << library.error().what;
  }
}

TEST(LibraryTest, VersionString) {
  EXPECT_EQ(version_string(FI_VERSION(1, 17)), "1.17");
  EXPECT_EQ(version_string(FI_VERSION(2, 0)), "2.0");
}

TEST(LibraryTest, StrerrorTakesBothSigns) {
  const test::FakeFabric fake;
  EXPECT_STREQ(fake.library().strerror(-FI_ETRUNC), fake.library().strerror(FI_ETRUNC));
}

test::FakeOptions three_nics() {
  test::FakeOptions options;
  options.nics = {{.name = "rail0"}, {.name = "rail1", .provider = "other"}, {.name = "rail2"}};
  return options;
}

TEST(DiscoverTest, ReturnsEveryOfferInTheLibrarysOrder) {
  const test::FakeFabric fake(three_nics());
  const auto infos = fake.library().discover({.caps = FI_MSG | FI_TAGGED, .provider = ""});
  ASSERT_TRUE(infos.has_value()) << infos.error().what;
  ASSERT_EQ(infos->size(), 3U);
  EXPECT_EQ((*infos)[0].domain(), "rail0");
  EXPECT_EQ((*infos)[1].domain(), "rail1");
  EXPECT_EQ((*infos)[2].domain(), "rail2");
}

TEST(DiscoverTest, ProviderLimitsTheOffers) {
  const test::FakeFabric fake(three_nics());
  const auto infos = fake.library().discover({.caps = FI_MSG, .provider = "other"});
  ASSERT_TRUE(infos.has_value());
  ASSERT_EQ(infos->size(), 1U);
  EXPECT_EQ(infos->front().domain(), "rail1");
  EXPECT_EQ(infos->front().provider(), "other");
}

TEST(DiscoverTest, NoOfferIsNotAnError) {
  const test::FakeFabric fake;
  const auto infos = fake.library().discover({.caps = FI_RMA, .provider = ""});
  ASSERT_TRUE(infos.has_value());
  EXPECT_TRUE(infos->empty());
}

TEST(DiscoverTest, AcceptsNicsThatNeedContextsAndRegistration) {
  test::FakeOptions options;
  options.nics = {{.mr_mode = FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR, .mode = FI_CONTEXT2}};
  const test::FakeFabric fake(options);
  const auto infos = fake.library().discover({.caps = FI_MSG, .provider = ""});
  ASSERT_TRUE(infos.has_value());
  EXPECT_EQ(infos->size(), 1U);
}

TEST(DiscoverTest, FailureSaysWhatTheLibrarySays) {
  test::FakeFabric fake;
  fake.faults().on_setup(bit(test::SetupCall::kGetInfo), test::Selector::nth(1), FI_ENOMEM);
  const auto infos = fake.library().discover({.caps = FI_MSG, .provider = ""});
  ASSERT_FALSE(infos.has_value());
  EXPECT_EQ(infos.error().number, FI_ENOMEM);
  EXPECT_NE(infos.error().what.find("fi_getinfo failed: "), std::string::npos);
}

TEST(InfoTest, SaysWhatTheOfferHolds) {
  test::FakeOptions options;
  options.nics = {{.name = "rail0", .provider = "maker", .fabric = "net", .speed_mbps = 400'000}};
  const test::FakeFabric fake(options);
  const auto infos = fake.library().discover({.caps = FI_MSG, .provider = ""});
  ASSERT_TRUE(infos.has_value());
  const Info& info = infos->front();
  EXPECT_EQ(info.domain(), "rail0");
  EXPECT_EQ(info.provider(), "maker");
  EXPECT_EQ(info.fabric(), "net");
  EXPECT_EQ(info.speed_mbps(), 400'000);
  EXPECT_EQ(info.address_family(), 0);
  EXPECT_EQ(info.pci_path(), "");
}

TEST(InfoTest, FindsThePciFunctionAboveADevice) {
  EXPECT_EQ(pci_function("/sys/devices/pci0000:00/0000:00:03.0/virtio2"), "/sys/devices/pci0000:00/0000:00:03.0");
  EXPECT_EQ(pci_function("/sys/devices/pci0000:10/0000:10:1b.7"), "/sys/devices/pci0000:10/0000:10:1b.7");
  EXPECT_EQ(pci_function("/sys/devices/platform/virtio-mmio.1/virtio1"), "");
  EXPECT_EQ(pci_function(""), "");
}

TEST(InfoTest, SpeedIsZeroWhereNobodyKnows) {
  test::FakeOptions options;
  options.nics = {{.name = "no-such-interface", .speed_mbps = 0}};
  const test::FakeFabric fake(options);
  const auto infos = fake.library().discover({.caps = FI_MSG, .provider = ""});
  ASSERT_TRUE(infos.has_value());
  EXPECT_EQ(infos->front().speed_mbps(), 0);
}

TEST(InfoTest, OutlivesTheListItCameFrom) {
  const test::FakeFabric fake(three_nics());
  auto infos = fake.library().discover({.caps = FI_MSG, .provider = ""});
  ASSERT_TRUE(infos.has_value());
  const Info kept = std::move((*infos)[2]);
  infos->clear();
  EXPECT_EQ(kept.domain(), "rail2");
  EXPECT_EQ(kept.get()->next, nullptr);
}

}  // namespace
}  // namespace weft::fabric
