// The helpers that other tests rely on.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "tests/fabric_fake/fake_fabric.h"
#include "tests/support/alloc_counter.h"
#include "tests/support/lock_counter.h"
#include "tests/support/log_capture.h"

namespace weft::test {
namespace {

/// Keeps the optimizer from removing an allocation that nobody uses.
void use(void* memory) { asm volatile("" : : "g"(memory) : "memory"); }

TEST(AllocCounterTest, CountsEveryWayToAskForMemory) {
  if (!AllocCounter::works()) GTEST_SKIP() << "sanitizers have their own malloc";
  const AllocCounter counter;
  EXPECT_EQ(counter.count(), 0U);
  auto owned = std::make_unique<int>(1);
  use(owned.get());
  EXPECT_EQ(counter.count(), 1U);
  void* memory = std::malloc(8);
  use(memory);
  void* const grown = std::realloc(memory, 8000);
  use(grown);
  std::free(grown);
  EXPECT_EQ(counter.count(), 3U);
  memory = std::calloc(1, 8);
  use(memory);
  std::free(memory);
  memory = std::aligned_alloc(64, 64);
  use(memory);
  std::free(memory);
  EXPECT_EQ(counter.count(), 5U);
  struct alignas(128) Wide {
    char bytes[128];
  };
  auto wide = std::make_unique<Wide>();
  use(wide.get());
  EXPECT_EQ(counter.count(), 6U);
  EXPECT_EQ(posix_memalign(&memory, 64, 64), 0);
  std::free(memory);
  EXPECT_EQ(counter.count(), 7U);
}

TEST(AllocCounterTest, OtherThreadsDoNotCount) {
  const AllocCounter counter;
  std::uint64_t before = 0;
  std::jthread other([] { use(std::make_unique<int>(1).get()); });
  before = counter.count();  // starting a thread allocates
  other.join();
  EXPECT_EQ(counter.count(), before);
}

TEST(LockCounterTest, CountsMutexes) {
  if (!LockCounter::works()) GTEST_SKIP() << "sanitizers have their own mutexes";
  std::mutex mutex;
  std::shared_mutex shared;
  const LockCounter counter;
  std::unique_lock(mutex).unlock();
  EXPECT_EQ(counter.count(), 1U);
  if (mutex.try_lock()) mutex.unlock();
  EXPECT_EQ(counter.count(), 2U);
  std::shared_lock(shared).unlock();
  std::unique_lock(shared).unlock();
  EXPECT_EQ(counter.count(), 4U);
}

TEST(LockCounterTest, LocksStillLock) {
  std::mutex mutex;
  const std::unique_lock held(mutex);
  std::jthread other([&] { EXPECT_FALSE(mutex.try_lock()); });
}

TEST(LogCaptureTest, KeepsLines) {
  WEFT_INFO("a fact");
  EXPECT_TRUE(LogCapture::current().has(log::Level::kInfo, "fact"));
  EXPECT_FALSE(LogCapture::current().has(log::Level::kWarn, "fact"));
  ASSERT_EQ(LogCapture::current().lines().size(), 1U);
}

TEST(LogCaptureTest, UnexpectedWarningFails) {
  EXPECT_NONFATAL_FAILURE(
      {
        const LogCapture inner;
        WEFT_WARN("a surprise");
      },
      "unexpected warning: a surprise");
}

TEST(LogCaptureTest, MissingWarningFails) {
  EXPECT_NONFATAL_FAILURE(
      {
        LogCapture inner;
        inner.expect_warning("no cable");
      },
      "a warning never came: no cable");
}

TEST(LogCaptureTest, ExpectedWarningIsFine) {
  LogCapture inner;
  inner.expect_warning("no cable");
  WEFT_WARN("there is no cable in port 1");
  WEFT_WARN("there is no cable in port 2");
}

TEST(LogCaptureTest, InnerOneHearsEverything) {
  {
    LogCapture inner;
    WEFT_INFO("inside");
    EXPECT_EQ(&LogCapture::current(), &inner);
  }
  WEFT_INFO("outside");
  const auto lines = LogCapture::current().lines();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].text, "outside");
}

TEST(FakeFabricEndTest, ComplaintsFailTheTest) {
  EXPECT_NONFATAL_FAILURE(
      {
        FakeFabric fake;
        fake.kill(7, Death::kSilent);
      },
      "no endpoint to kill");
}

TEST(FakeFabricEndTest, OpenObjectsFailTheTest) {
  EXPECT_NONFATAL_FAILURE(
      {
        const FakeFabric fake;
        fid_fabric* fabric = nullptr;
        EXPECT_EQ(FakeFabric::functions().fabric(nullptr, &fabric, nullptr), 0);
      },
      "a fabric was never closed");
}

}  // namespace
}  // namespace weft::test
