#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "weft/spin_lock.h"

namespace weft {
namespace {

TEST(SpinLockTest, LetsOneThreadInAtATime) {
  constexpr int kThreads = 4;
  constexpr std::uint64_t kRounds = 5000;
  SpinLock lock;
  std::uint64_t sum = 0;  // not atomic: only the lock protects it
  {
    std::vector<std::jthread> threads;
    threads.reserve(kThreads);
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        for (std::uint64_t i = 0; i < kRounds; ++i) {
          const SpinGuard guard(lock);
          ++sum;
        }
      });
    }
  }
  EXPECT_EQ(sum, kThreads * kRounds);
  EXPECT_EQ(lock.acquired(), kThreads * kRounds);
}

TEST(SpinLockTest, CountsHowOftenItWasTaken) {
  SpinLock lock;
  EXPECT_EQ(lock.acquired(), 0U);
  for (int i = 0; i < 3; ++i) const SpinGuard guard(lock);
  EXPECT_EQ(lock.acquired(), 3U);
  EXPECT_EQ(lock.contended(), 0U);
}

TEST(SpinLockTest, CountsWaiters) {
  SpinLock lock;
  std::atomic<bool> done{false};
  lock.lock();
  std::jthread waiter([&] {
    const SpinGuard guard(lock);
    done = true;
  });
  while (lock.contended() == 0) std::this_thread::yield();
  EXPECT_FALSE(done);
  lock.unlock();
  waiter.join();
  EXPECT_TRUE(done);
  EXPECT_EQ(lock.contended(), 1U);
  EXPECT_EQ(lock.acquired(), 2U);
}

TEST(SpinGuardTest, UnlocksAtTheEndOfItsScope) {
  SpinLock lock;
  const auto pass = [&] { const SpinGuard guard(lock); };
  pass();
  pass();  // would hang otherwise
  EXPECT_EQ(lock.acquired(), 2U);
}

}  // namespace
}  // namespace weft
