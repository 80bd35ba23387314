#include "transports/connection/mr_cache.h"

#include <gtest/gtest.h>
#include <rdma/fi_errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "tests/fabric_fake/fake_fabric.h"
#include "tests/fabric_fake/random.h"
#include "tests/support/cuda_stub.h"
#include "tests/support/log_capture.h"

namespace weft {
namespace {

using test::FakeFabric;
using test::Selector;
using test::SetupCall;

constexpr std::size_t kPages = 64;

std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

/// Address space with nothing in it: all that a registration on the fake needs.
std::byte* page(std::size_t number) {
  static auto* const base = static_cast<std::byte*>(
      mmap(nullptr, kPages * page_bytes(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  return base + number * page_bytes();
}

class MrCacheTest : public testing::Test {
 protected:
  explicit MrCacheTest(int mr_mode = FI_MR_LOCAL) : fake_(options(mr_mode)) {
    auto infos = fake_.library().discover({.caps = FI_MSG | FI_TAGGED, .provider = ""});
    info_.emplace(std::move(infos.value().front()));
    domain_.emplace(fabric::Domain::open(fake_.library(), *info_).value());
    cache_.emplace(*domain_, true, nullptr, FI_SEND | FI_RECV);
  }

  static test::FakeOptions options(int mr_mode) {
    test::FakeOptions options;
    options.nics = {{.caps = FI_MSG | FI_TAGGED | FI_RMA | FI_HMEM, .mr_mode = mr_mode}};
    return options;
  }

  /// Opens the CUDA stub and a cache that knows it.
  void with_cuda() {
    stub_.emplace();
    cuda_ = fabric::CudaDriver::open(test::CudaStub::path());
    ASSERT_TRUE(cuda_.has_value());
    cache_.emplace(*domain_, true, &*cuda_, FI_SEND | FI_RECV);
  }

  MemoryHandle* acquire(void* data, std::size_t size, int kind = kPointerHost, int fd = -1) {
    auto handle = cache_->acquire(data, size, kind, fd);
    EXPECT_TRUE(handle.has_value()) << handle.error().what;
    return handle.value_or(nullptr);
  }
  void release(MemoryHandle* handle) {
    const Status status = cache_->release(handle);
    EXPECT_TRUE(status.has_value()) << status.error().what;
  }
  Error refusal(void* data, std::size_t size, int kind = kPointerHost) {
    auto handle = cache_->acquire(data, size, kind);
    EXPECT_FALSE(handle.has_value());
    return handle ? Error{Code::kInternal, 0, ""} : handle.error();
  }

  const std::size_t page_size_ = page_bytes();
  FakeFabric fake_;
  std::optional<test::CudaStub> stub_;
  std::optional<fabric::CudaDriver> cuda_;
  std::optional<fabric::Info> info_;
  std::optional<fabric::Domain> domain_;
  std::optional<MrCache> cache_;
};

TEST_F(MrCacheTest, RegistersWholePages) {
  MemoryHandle* const handle = acquire(page(3) + 100, page_size_);
  const auto live = fake_.registrations();
  ASSERT_EQ(live.size(), 1U);
  EXPECT_EQ(live[0].data, page(3));
  EXPECT_EQ(live[0].size, 2 * page_size_);
  EXPECT_EQ(live[0].access, FI_SEND | FI_RECV);
  EXPECT_EQ(handle->data, page(3) + 100);
  EXPECT_EQ(handle->size, page_size_);
  EXPECT_EQ(handle->pointer_kind, kPointerHost);
  EXPECT_EQ(handle->cuda_device, -1);
  EXPECT_NE(handle->descriptor, nullptr);
  EXPECT_EQ(handle->rails->regions[0].key(), live[0].key);
  release(handle);
  EXPECT_TRUE(fake_.registrations().empty());
}

TEST_F(MrCacheTest, WholePagesAreNotWidened) {
  MemoryHandle* const handle = acquire(page(3), 2 * page_size_);
  ASSERT_EQ(fake_.registrations().size(), 1U);
  EXPECT_EQ(fake_.registrations()[0].size, 2 * page_size_);
  release(handle);
}

TEST_F(MrCacheTest, SharesContainedRange) {
  MemoryHandle* const whole = acquire(page(0), 8 * page_size_);
  MemoryHandle* const part = acquire(page(2) + 5, 10);
  EXPECT_NE(whole, part);
  EXPECT_EQ(whole->descriptor, part->descriptor);
  EXPECT_EQ(fake_.registrations().size(), 1U);
  const MrCache::Stats stats = cache_->stats();
  EXPECT_EQ(stats.hits, 1U);
  EXPECT_EQ(stats.misses, 1U);
  EXPECT_EQ(stats.live, 1U);
  EXPECT_EQ(stats.handles, 2U);
  release(whole);
  EXPECT_EQ(fake_.registrations().size(), 1U) << "the part still needs it";
  release(part);
  EXPECT_TRUE(fake_.registrations().empty());
}

TEST_F(MrCacheTest, NeighboursInOnePageShare) {
  MemoryHandle* const low = acquire(page(1), 64);
  MemoryHandle* const high = acquire(page(1) + page_size_ - 64, 64);
  EXPECT_EQ(fake_.registrations().size(), 1U);
  release(low);
  release(high);
}

TEST_F(MrCacheTest, OverlapIsNotContainment) {
  MemoryHandle* const first = acquire(page(0), 4 * page_size_);
  MemoryHandle* const second = acquire(page(2), 4 * page_size_);
  MemoryHandle* const both = acquire(page(0), 6 * page_size_);
  EXPECT_EQ(fake_.registrations().size(), 3U);
  EXPECT_EQ(cache_->stats().misses, 3U);
  MemoryHandle* const in_both = acquire(page(3), page_size_);
  EXPECT_EQ(fake_.registrations().size(), 3U);
  for (MemoryHandle* each : {both, first, second, in_both}) release(each);
  EXPECT_EQ(cache_->stats().live, 0U);
}

TEST_F(MrCacheTest, MemoryMappedAnewIsRegisteredAnew) {
  MemoryHandle* handle = acquire(page(0), page_size_);
  const auto first_key = handle->rails->regions[0].key();
  release(handle);
  handle = acquire(page(0), page_size_);
  EXPECT_NE(handle->rails->regions[0].key(), first_key);
  EXPECT_EQ(cache_->stats().hits, 0U);
  release(handle);
}

TEST_F(MrCacheTest, DisabledCacheSharesNothing) {
  cache_.emplace(*domain_, false, nullptr, FI_SEND | FI_RECV);
  MemoryHandle* const one = acquire(page(0), page_size_);
  MemoryHandle* const two = acquire(page(0), page_size_);
  EXPECT_EQ(fake_.registrations().size(), 2U);
  release(one);
  EXPECT_EQ(fake_.registrations().size(), 1U);
  release(two);
  EXPECT_EQ(cache_->stats().misses, 2U);
  EXPECT_EQ(cache_->stats().live, 0U);
}

TEST_F(MrCacheTest, RefusesRangesThatCannotBe) {
  EXPECT_EQ(refusal(nullptr, 10).code, Code::kArgument);
  EXPECT_EQ(refusal(page(0), 0).code, Code::kArgument);
  EXPECT_EQ(refusal(page(0), SIZE_MAX).code, Code::kArgument);
  EXPECT_EQ(refusal(std::bit_cast<void*>(UINTPTR_MAX - 10), 10).code, Code::kArgument);
  EXPECT_EQ(refusal(page(0), UINTPTR_MAX - reinterpret_cast<std::uintptr_t>(page(0))).code, Code::kArgument);
  EXPECT_EQ(refusal(page(0), 10, kPointerDmaBuf).code, Code::kArgument);
  EXPECT_EQ(refusal(page(0), 10, kPointerHost | kPointerCuda).code, Code::kArgument);
  EXPECT_EQ(cache_->stats().misses, 0U);
  EXPECT_EQ(cache_->stats().handles, 0U);
}

TEST_F(MrCacheTest, SecondReleaseIsAnErrorAndTakesNothingFromOthers) {
  MemoryHandle* const one = acquire(page(0), page_size_);
  MemoryHandle* const two = acquire(page(0), page_size_);
  release(one);
  const Status again = cache_->release(one);
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().code, Code::kArgument);
  EXPECT_EQ(fake_.registrations().size(), 1U);
  release(two);
}

TEST_F(MrCacheTest, ReleaseOfAnyPointerIsAnError) {
  int unrelated = 0;
  EXPECT_FALSE(cache_->release(nullptr).has_value());
  EXPECT_FALSE(cache_->release(reinterpret_cast<MemoryHandle*>(&unrelated)).has_value());
  EXPECT_FALSE(cache_->release(std::bit_cast<MemoryHandle*>(std::uintptr_t{1})).has_value());
}

TEST_F(MrCacheTest, FailedRegistrationLeavesNothing) {
  fake_.faults().on_setup(bit(SetupCall::kMrRegister), Selector::nth(1), FI_ENOMEM);
  const Error error = refusal(page(0), page_size_);
  EXPECT_EQ(error.number, FI_ENOMEM);
  EXPECT_EQ(cache_->stats().misses, 1U);
  EXPECT_EQ(cache_->stats().handles, 0U);
  EXPECT_EQ(cache_->stats().live, 0U);
  release(acquire(page(0), page_size_));
}

TEST_F(MrCacheTest, HandlesHeldAtTheEndAreLogged) {
  test::LogCapture::current().expect_warning("1 memory registrations on fake0 were never given back");
  acquire(page(0), page_size_);
  cache_.reset();
  EXPECT_TRUE(fake_.registrations().empty());
}

TEST_F(MrCacheTest, HandleKnowsWhatItContains) {
  MemoryHandle* const handle = acquire(page(1), 100);
  EXPECT_TRUE(handle->contains(page(1), 100));
  EXPECT_TRUE(handle->contains(page(1) + 100, 0));
  EXPECT_FALSE(handle->contains(page(1) + 1, 100));
  EXPECT_FALSE(handle->contains(page(1) - 1, 2));
  EXPECT_FALSE(handle->contains(page(1) + 50, SIZE_MAX));
  release(handle);
}

TEST_F(MrCacheTest, CudaMemoryWithoutADriverIsRefused) {
  EXPECT_EQ(refusal(page(0), page_size_, kPointerCuda).code, Code::kUsage);
}

TEST_F(MrCacheTest, CudaMemoryIsRegisteredForItsDeviceInItsContext) {
  ASSERT_NO_FATAL_FAILURE(with_cuda());
  stub_->own(page(0), 16 * page_size_, 1);
  int current_during = -1;
  fake_.faults().before_setup = [&](SetupCall call) {
    if (call == SetupCall::kMrRegister) current_during = stub_->current();
  };
  MemoryHandle* const handle = acquire(page(0) + 256, page_size_, kPointerCuda);
  EXPECT_EQ(current_during, 1);
  EXPECT_EQ(stub_->current(), -1);
  EXPECT_EQ(stub_->state().retained, 0);
  EXPECT_EQ(handle->cuda_device, 1);
  EXPECT_EQ(handle->pointer_kind, kPointerCuda);
  const auto live = fake_.registrations();
  ASSERT_EQ(live.size(), 1U);
  EXPECT_TRUE(live[0].is_cuda);
  EXPECT_EQ(live[0].cuda_device, 1);
  release(handle);
}

TEST_F(MrCacheTest, CudaMemoryThatIsNoneIsRefused) {
  ASSERT_NO_FATAL_FAILURE(with_cuda());
  EXPECT_EQ(refusal(page(0), page_size_, kPointerCuda).code, Code::kArgument);
  EXPECT_EQ(cache_->stats().misses, 0U);
}

TEST_F(MrCacheTest, CudaContextThatCannotBeHadIsAnError) {
  ASSERT_NO_FATAL_FAILURE(with_cuda());
  stub_->own(page(0), 16 * page_size_, 0);
  stub_->state().fail_push = true;
  const Error error = refusal(page(0), page_size_, kPointerCuda);
  EXPECT_EQ(error.code, Code::kSystem);
  EXPECT_NE(error.what.find("context of CUDA device 0"), std::string::npos);
  EXPECT_EQ(stub_->state().retained, 0);
  EXPECT_TRUE(fake_.registrations().empty());
}

TEST_F(MrCacheTest, KindsAreNeverMixed) {
  ASSERT_NO_FATAL_FAILURE(with_cuda());
  stub_->own(page(0), 16 * page_size_, 0);
  // The same addresses as host memory, as CUDA memory, and through a dma-buf.
  MemoryHandle* const host = acquire(page(0), 4 * page_size_, kPointerHost);
  MemoryHandle* const cuda = acquire(page(0), 4 * page_size_, kPointerCuda);
  MemoryHandle* const dmabuf = acquire(page(0), 4 * page_size_, kPointerCuda, 9);
  EXPECT_EQ(fake_.registrations().size(), 3U);
  EXPECT_EQ(cache_->stats().hits, 0U);
  MemoryHandle* const more[] = {acquire(page(1), page_size_, kPointerHost), acquire(page(1), page_size_, kPointerCuda),
                                acquire(page(1), page_size_, kPointerCuda, 10)};
  EXPECT_EQ(more[0]->descriptor, host->descriptor);
  EXPECT_EQ(more[1]->descriptor, cuda->descriptor);
  EXPECT_EQ(more[2]->descriptor, dmabuf->descriptor);
  for (MemoryHandle* each : more) release(each);
  for (MemoryHandle* each : {host, cuda, dmabuf}) release(each);
}

TEST_F(MrCacheTest, OneAddressOnAnotherDeviceIsOtherMemory) {
  ASSERT_NO_FATAL_FAILURE(with_cuda());
  stub_->own(page(0), 4 * page_size_, 0);
  MemoryHandle* const before = acquire(page(0), page_size_, kPointerCuda);
  stub_->own(page(0), 4 * page_size_, 1);
  MemoryHandle* const after = acquire(page(0), page_size_, kPointerCuda);
  EXPECT_EQ(fake_.registrations().size(), 2U);
  release(before);
  release(after);
}

TEST_F(MrCacheTest, DmaBufIsRegisteredAsItIs) {
  ASSERT_NO_FATAL_FAILURE(with_cuda());
  stub_->own(page(0), 16 * page_size_, 0);
  auto handle = cache_->acquire(page(0) + 256, 1000, kPointerCuda, 9, 768);
  ASSERT_TRUE(handle.has_value()) << handle.error().what;
  const auto live = fake_.registrations();
  ASSERT_EQ(live.size(), 1U);
  EXPECT_EQ(live[0].data, page(0) + 256);
  EXPECT_EQ(live[0].size, 1000U);
  EXPECT_EQ(live[0].dmabuf_fd, 9);
  EXPECT_EQ(live[0].dmabuf_offset, 768U);
  release(*handle);
}

TEST_F(MrCacheTest, ThreadsThatAskForOneRangeRegisterItOnce) {
  constexpr int kThreads = 4;
  std::atomic<int> asking{0};
  // The first registration takes long enough for everybody else to ask as well.
  fake_.faults().before_setup = [&](SetupCall) {
    while (asking < kThreads) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  };
  std::vector<MemoryHandle*> handles(kThreads);
  {
    std::vector<std::jthread> threads;
    threads.reserve(kThreads);
    for (MemoryHandle*& handle : handles) {
      threads.emplace_back([&] {
        ++asking;
        handle = acquire(page(0), 4 * page_size_);
      });
    }
  }
  EXPECT_EQ(cache_->stats().misses, 1U);
  EXPECT_EQ(cache_->stats().hits, static_cast<std::uint64_t>(kThreads - 1));
  EXPECT_EQ(fake_.registrations().size(), 1U);
  for (MemoryHandle* each : handles) release(each);
}

TEST_F(MrCacheTest, ThreadsMayComeAndGo) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 300;
  std::vector<std::jthread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      test::Random random(static_cast<std::uint64_t>(t) + 1);
      std::vector<MemoryHandle*> held;
      for (int i = 0; i < kRounds; ++i) {
        if (held.empty() || random.below(2) == 0) {
          held.push_back(acquire(page(random.below(16)), page_size_ * (1 + random.below(4))));
        } else {
          std::swap(held[random.below(held.size())], held.back());
          EXPECT_NE(held.back()->descriptor, nullptr);
          release(held.back());
          held.pop_back();
        }
      }
      for (MemoryHandle* each : held) release(each);
    });
  }
  threads.clear();
  EXPECT_EQ(cache_->stats().live, 0U);
  EXPECT_TRUE(fake_.registrations().empty());
}

TEST_F(MrCacheTest, EveryLiveHandleIsCoveredAtAllTimes) {
  test::Random random(3);
  std::vector<MemoryHandle*> held;
  for (int round = 0; round < 1000; ++round) {
    if (held.empty() || random.below(5) < 3) {
      held.push_back(acquire(page(random.below(32)) + random.below(page_size_), 1 + random.below(6 * page_size_)));
    } else {
      std::swap(held[random.below(held.size())], held.back());
      release(held.back());
      held.pop_back();
    }
    const auto live = fake_.registrations();
    for (const MemoryHandle* each : held) {
      const auto serves = [&](const test::Registration& region) {
        const auto* const data = static_cast<const std::byte*>(region.data);
        return region.key == each->rails->regions[0].key() && data <= each->data &&
               each->data + each->size <= data + region.size;
      };
      ASSERT_TRUE(std::ranges::any_of(live, serves)) << "round " << round;
    }
  }
  for (MemoryHandle* each : held) release(each);
  EXPECT_TRUE(fake_.registrations().empty());
}

/// On a NIC that wants no registered buffers.
class UnregisteredMrCacheTest : public MrCacheTest {
 protected:
  UnregisteredMrCacheTest() : MrCacheTest(0) {}
};

TEST_F(UnregisteredMrCacheTest, HostMemoryNeedsNoProvider) {
  MemoryHandle* const handle = acquire(page(0), page_size_);
  EXPECT_EQ(handle->descriptor, nullptr);
  EXPECT_EQ(handle->rails, nullptr);
  EXPECT_TRUE(fake_.registrations().empty());
  EXPECT_EQ(cache_->stats().handles, 1U);
  EXPECT_EQ(cache_->stats().misses, 0U);
  release(handle);
  EXPECT_FALSE(cache_->release(handle).has_value());
}

TEST_F(UnregisteredMrCacheTest, CudaMemoryIsRegisteredAllTheSame) {
  ASSERT_NO_FATAL_FAILURE(with_cuda());
  stub_->own(page(0), page_size_, 0);
  MemoryHandle* const handle = acquire(page(0), page_size_, kPointerCuda);
  EXPECT_NE(handle->descriptor, nullptr);
  release(handle);
}

TEST_F(UnregisteredMrCacheTest, RemoteAccessIsRegisteredAllTheSame) {
  cache_.emplace(*domain_, true, nullptr, FI_REMOTE_WRITE);
  MemoryHandle* const handle = acquire(page(0), page_size_);
  ASSERT_NE(handle->rails, nullptr);
  release(handle);
}

}  // namespace
}  // namespace weft
