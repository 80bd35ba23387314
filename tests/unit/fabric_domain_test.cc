#include "transports/fabric/domain.h"

#include <gtest/gtest.h>
#include <rdma/fi_errno.h>

#include <array>

#include "tests/fabric_fake/fake_fabric.h"
#include "tests/support/fabric_node.h"
#include "tests/support/log_capture.h"
#include "transports/fabric/address_vector.h"
#include "transports/fabric/completion_queue.h"
#include "transports/fabric/memory_region.h"

namespace weft::fabric {
namespace {

using test::FabricNode;
using test::FakeFabric;
using test::Selector;
using test::SetupCall;

Info first_info(const FakeFabric& fake) {
  auto infos = fake.library().discover({.caps = FI_MSG, .provider = ""});
  return std::move(infos.value().front());
}

TEST(DomainTest, OpensFabricAndDomainAndClosesBoth) {
  const FakeFabric fake;
  const Info info = first_info(fake);
  {
    const auto domain = Domain::open(fake.library(), info);
    ASSERT_TRUE(domain.has_value()) << domain.error().what;
    EXPECT_EQ(fake.open_objects(), 2U);
    EXPECT_EQ(&domain->info(), &info);
    EXPECT_EQ(&domain->library(), &fake.library());
  }
  EXPECT_EQ(fake.open_objects(), 0U);
}

TEST(DomainTest, MoveKeepsOneOwner) {
  const FakeFabric fake;
  const Info info = first_info(fake);
  auto first = Domain::open(fake.library(), info);
  ASSERT_TRUE(first.has_value());
  const Domain second = std::move(*first);
  EXPECT_EQ(first->get(), nullptr);
  EXPECT_NE(second.get(), nullptr);
  EXPECT_EQ(fake.open_objects(), 2U);
}

TEST(DomainTest, MoveAssignmentClosesDomainBeforeFabric) {
  const FakeFabric fake;
  const Info info = first_info(fake);
  auto first = Domain::open(fake.library(), info);
  auto second = Domain::open(fake.library(), info);
  ASSERT_TRUE(first.has_value() && second.has_value());
  *first = std::move(*second);
  EXPECT_NE(first->get(), nullptr);
}

TEST(DomainTest, ErrorNamesCallNicProviderAndReason) {
  test::FakeOptions options;
  options.nics = {{.name = "rdmap3", .provider = "maker"}};
  FakeFabric fake(options);
  fake.faults().on_setup(bit(SetupCall::kDomain), Selector::nth(1), FI_EINVAL);
  const Info info = first_info(fake);
  const auto domain = Domain::open(fake.library(), info);
  ASSERT_FALSE(domain.has_value());
  EXPECT_EQ(domain.error().code, Code::kSystem);
  EXPECT_EQ(domain.error().number, FI_EINVAL);
  EXPECT_EQ(domain.error().what, "fi_domain failed on rdmap3 (maker): Invalid argument (22)");
}

TEST(DomainTest, NeedsLocalRegistrationWhereTheNicSaysSo) {
  test::FakeOptions options;
  options.nics = {{.name = "plain"}, {.name = "strict", .mr_mode = FI_MR_LOCAL}};
  const FakeFabric fake(options);
  const auto infos = fake.library().discover({.caps = FI_MSG, .provider = ""});
  const auto plain = Domain::open(fake.library(), (*infos)[0]);
  const auto strict = Domain::open(fake.library(), (*infos)[1]);
  ASSERT_TRUE(plain.has_value() && strict.has_value());
  EXPECT_FALSE(plain->needs_local_registration());
  EXPECT_TRUE(strict->needs_local_registration());
}

TEST(DomainTest, ClosingBeforeAChildWarnsAndLeaks) {
  auto& log = test::LogCapture::current();
  log.expect_warning("fi_close failed: error " + std::to_string(FI_EBUSY));
  FakeFabric fake;
  const Info info = first_info(fake);
  auto domain = Domain::open(fake.library(), info);
  ASSERT_TRUE(domain.has_value());
  fid_domain* const raw = domain->get();
  auto cq = std::make_unique<Result<CompletionQueue>>(CompletionQueue::open(*domain, 0));
  ASSERT_TRUE(cq->has_value());
  domain = fail(Code::kInternal, "gone");
  EXPECT_EQ(fake.open_objects(), 3U) << "neither domain nor fabric can close below an open queue";
  cq.reset();
  EXPECT_EQ(fi_close(&raw->fid), 0);
  EXPECT_EQ(fake.open_objects(), 1U);
  // The fabric's only handle is gone with the domain's.
  EXPECT_EQ(fake.close_leaked(), 1U);
}

TEST(FabricObjectsTest, EveryFailedSetUpCallIsReportedAndLeaksNothing) {
  const std::size_t faults = test::fail_each_setup_call({}, [](FakeFabric& fake) {
    const auto known = [&]() -> Result<fi_addr_t> {
      TRY(const auto node, FabricNode::open(fake.library()));
      return node->know(*node);
    }();
    // The failure of one call must not come to light as that of a later one.
    EXPECT_TRUE(known.has_value() || known.error().number == FI_EIO) << known.error().what;
    return known.has_value();
  });
  // getinfo, fabric, domain, av, cq, endpoint, two binds, enable, getname, av_insert
  EXPECT_EQ(faults, 11U);
}

TEST(AddressVectorTest, InsertsAndRemoves) {
  const FakeFabric fake;
  auto node = FabricNode::open(fake.library());
  ASSERT_TRUE(node.has_value());
  const auto address = (*node)->endpoint->address();
  ASSERT_TRUE(address.has_value());
  EXPECT_EQ(address->size(), test::kFakeAddressBytes);
  const auto known = (*node)->addresses->insert(*address);
  ASSERT_TRUE(known.has_value()) << known.error().what;
  (*node)->addresses->remove(*known);
}

TEST(AddressVectorTest, RefusesWhatIsNoAddress) {
  const FakeFabric fake;
  auto node = FabricNode::open(fake.library());
  ASSERT_TRUE(node.has_value());
  const std::array<std::byte, test::kFakeAddressBytes> garbage{};
  const auto known = (*node)->addresses->insert(garbage);
  ASSERT_FALSE(known.has_value());
  EXPECT_EQ(known.error().number, FI_EINVAL);
}

TEST(AddressVectorTest, RemovingWhatIsNotThereWarns) {
  test::LogCapture::current().expect_warning("fi_av_remove failed on fake0");
  const FakeFabric fake;
  auto node = FabricNode::open(fake.library());
  ASSERT_TRUE(node.has_value());
  (*node)->addresses->remove(17);
}

test::FakeOptions gpu_nic(std::uint32_t version = FI_VERSION(1, 20)) {
  test::FakeOptions options;
  options.version = version;
  options.nics = {{.caps = FI_MSG | FI_TAGGED | FI_HMEM, .mr_mode = FI_MR_LOCAL | FI_MR_HMEM}};
  return options;
}

TEST(MemoryRegionTest, RegistersHostMemory) {
  const FakeFabric fake(gpu_nic());
  const Info info = first_info(fake);
  const auto domain = Domain::open(fake.library(), info);
  std::array<std::byte, 64> memory{};
  {
    const auto region = MemoryRegion::open(*domain, {.data = memory.data(), .size = memory.size()}, FI_SEND);
    ASSERT_TRUE(region.has_value()) << region.error().what;
    const auto live = fake.registrations();
    ASSERT_EQ(live.size(), 1U);
    EXPECT_EQ(live[0].data, memory.data());
    EXPECT_EQ(live[0].size, memory.size());
    EXPECT_EQ(live[0].access, FI_SEND);
    EXPECT_FALSE(live[0].is_cuda);
    EXPECT_EQ(live[0].dmabuf_fd, -1);
    EXPECT_EQ(live[0].key, region->key());
    EXPECT_NE(region->descriptor(), nullptr);
  }
  EXPECT_TRUE(fake.registrations().empty());
}

TEST(MemoryRegionTest, NamesTheCudaDevice) {
  const FakeFabric fake(gpu_nic());
  const Info info = first_info(fake);
  const auto domain = Domain::open(fake.library(), info);
  std::array<std::byte, 64> memory{};
  const auto region = MemoryRegion::open(
      *domain, {.data = memory.data(), .size = memory.size(), .is_cuda = true, .cuda_device = 3}, FI_RECV);
  ASSERT_TRUE(region.has_value()) << region.error().what;
  const auto live = fake.registrations();
  ASSERT_EQ(live.size(), 1U);
  EXPECT_TRUE(live[0].is_cuda);
  EXPECT_EQ(live[0].cuda_device, 3);
}

TEST(MemoryRegionTest, PassesADmaBufWithItsOffset) {
  const FakeFabric fake(gpu_nic());
  const Info info = first_info(fake);
  const auto domain = Domain::open(fake.library(), info);
  std::array<std::byte, 64> memory{};
  const auto region = MemoryRegion::open(*domain,
                                         {.data = memory.data(),
                                          .size = memory.size(),
                                          .is_cuda = true,
                                          .cuda_device = 1,
                                          .dmabuf_fd = 9,
                                          .dmabuf_offset = 4096},
                                         FI_RECV);
  ASSERT_TRUE(region.has_value()) << region.error().what;
  const auto live = fake.registrations();
  ASSERT_EQ(live.size(), 1U);
  EXPECT_EQ(live[0].data, memory.data());
  EXPECT_EQ(live[0].size, memory.size());
  EXPECT_EQ(live[0].dmabuf_fd, 9);
  EXPECT_EQ(live[0].dmabuf_offset, 4096U);
}

TEST(MemoryRegionTest, DmaBufNeedsLibfabric120) {
  const FakeFabric fake(gpu_nic(FI_VERSION(1, 19)));
  const Info info = first_info(fake);
  const auto domain = Domain::open(fake.library(), info);
  std::array<std::byte, 64> memory{};
  const auto region =
      MemoryRegion::open(*domain, {.data = memory.data(), .size = memory.size(), .dmabuf_fd = 9}, FI_RECV);
  ASSERT_FALSE(region.has_value());
  EXPECT_EQ(region.error().code, Code::kUsage);
  EXPECT_NE(region.error().what.find("1.20"), std::string::npos);
  EXPECT_NE(region.error().what.find("1.19"), std::string::npos);
}

TEST(MemoryRegionTest, ProviderErrorIsReported) {
  FakeFabric fake(gpu_nic());
  fake.faults().on_setup(bit(SetupCall::kMrRegister), Selector::nth(1), FI_ENOMEM);
  const Info info = first_info(fake);
  const auto domain = Domain::open(fake.library(), info);
  std::array<std::byte, 64> memory{};
  const auto region = MemoryRegion::open(*domain, {.data = memory.data(), .size = memory.size()}, FI_SEND);
  ASSERT_FALSE(region.has_value());
  EXPECT_EQ(region.error().number, FI_ENOMEM);
  EXPECT_NE(region.error().what.find("fi_mr_regattr failed on fake0"), std::string::npos);
}

}  // namespace
}  // namespace weft::fabric
