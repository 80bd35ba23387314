// What a message costs: no allocation, one lock, never contended.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>

#include "tests/support/alloc_counter.h"
#include "tests/support/comm_pair.h"
#include "tests/support/lock_counter.h"

namespace weft::sendrecv {
namespace {

using test::AllocCounter;
using test::Buffer;
using test::CommPair;
using test::DevicePair;
using test::LockCounter;

/// What one call of the data path costs on a device.
struct Cost {
  std::uint64_t locks;
  std::uint64_t mutexes;
  std::uint64_t allocations;
  bool operator==(const Cost&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Cost& cost) {
  return out << cost.locks << " locks of the device, " << cost.mutexes << " of pthread, " << cost.allocations
             << " allocations";
}
constexpr Cost kOneLock = {1, 0, 0};

template <class Call>
Cost cost_of(Device& device, Call&& call) {
  const std::uint64_t before = device.lock().acquired();
  const AllocCounter allocations;
  const LockCounter mutexes;
  call();
  const Cost cost = {device.lock().acquired() - before, mutexes.count(), allocations.count()};
  return cost;
}

class CostTest : public testing::Test {
 protected:
  CostTest() : comms_(pair_.connect()) {}

  void expect_one_lock_per_call(std::size_t group, std::span<const std::byte> out) {
    std::array<Buffer, kMaxGroup> buffers;
    for (std::size_t i = 0; i < group; ++i) buffers[i] = {std::span(in_[i]).first(out.size()), static_cast<int>(i)};
    Request* received = nullptr;
    EXPECT_EQ(
        cost_of(*pair_.far, [&] { test::try_receive(*comms_.receive, std::span(buffers).first(group), received); }),
        kOneLock);
    ASSERT_NE(received, nullptr);
    auto status = TestStatus::kPending;
    EXPECT_EQ(cost_of(*pair_.far, [&] { status = sendrecv::test(*received, nullptr); }), kOneLock);
    EXPECT_EQ(status, TestStatus::kPending);
    for (std::size_t i = 0; i < group; ++i) {
      Request* sent = nullptr;
      EXPECT_EQ(cost_of(*pair_.near, [&] { test::try_send(*comms_.send, out, static_cast<int>(i), sent); }), kOneLock);
      ASSERT_NE(sent, nullptr);
      EXPECT_EQ(cost_of(*pair_.near, [&] { status = sendrecv::test(*sent, nullptr); }), kOneLock);
      EXPECT_EQ(status, TestStatus::kDone);
    }
    std::array<int, kMaxGroup> sizes{};
    EXPECT_EQ(cost_of(*pair_.far, [&] { status = sendrecv::test(*received, sizes.data()); }), kOneLock);
    EXPECT_EQ(status, TestStatus::kDone);
  }

  DevicePair pair_;
  CommPair comms_;
  std::array<std::array<std::byte, 2048>, kMaxGroup> in_{};
  std::array<std::byte, 2048> out_{};
};

TEST_F(CostTest, CountersWork) {
  if (!AllocCounter::works() || !LockCounter::works()) GTEST_SKIP() << "not under a sanitizer";
  const AllocCounter allocations;
  const auto some = std::make_unique<std::array<std::byte, 100>>();
  EXPECT_NE(some, nullptr);
  EXPECT_GE(allocations.count(), 1U);
}

TEST_F(CostTest, EachCallTakesOneLockAndAllocatesNothing) {
  // Through every residue of the credit interval, so that calls that report to the sender are among them.
  for (std::size_t round = 0; round < 2 * kCreditEvery; ++round) {
    expect_one_lock_per_call(1, out_);
    if (HasFailure()) return;
  }
  EXPECT_EQ(pair_.near->lock().contended(), 0U);
  EXPECT_EQ(pair_.far->lock().contended(), 0U);
}

TEST_F(CostTest, GroupsAndZeroBytesCostNoMore) {
  for (std::size_t group = 1; group <= kMaxGroup; ++group) {
    expect_one_lock_per_call(group, out_);
    expect_one_lock_per_call(group, {});
  }
}

TEST_F(CostTest, CallsThatAnswerAgainCostNoMore) {
  pair_.fake.faults().on_post(test::kAnyVerb, test::Selector::always(), test::PostFault::again());
  for (int i = 0; i < 3000; ++i) {
    Request* request = nullptr;
    ASSERT_EQ(cost_of(*pair_.near, [&] { test::try_send(*comms_.send, out_, 0, request); }), kOneLock);
    ASSERT_EQ(cost_of(*pair_.far, [&] { test::try_receive(*comms_.receive, std::array{Buffer{in_[0]}}, request); }),
              kOneLock);
  }
}

TEST_F(CostTest, CallsOfAFailedCommunicatorAllocateNothing) {
  {
    const SpinGuard guard(pair_.near->lock());
    comms_.send->on_peer_failed({Code::kRemote, 0, "a test"});
  }
  Request* request = nullptr;
  EXPECT_EQ(cost_of(*pair_.near, [&] { test::try_send(*comms_.send, out_, 0, request); }), kOneLock);
}

TEST_F(CostTest, NewTagsAllocateNothing) {
  for (int tag = 0; tag < 256; ++tag) {
    Request* sent = nullptr;
    ASSERT_EQ(cost_of(*pair_.near, [&] { test::try_send(*comms_.send, {}, tag, sent); }), kOneLock);
    ASSERT_EQ(test::finish(sent, nullptr), TestStatus::kDone);
  }
}

TEST_F(CostTest, ManyCommunicatorsOfOneThreadNeverContend) {
  std::vector<CommPair> many;
  for (int i = 0; i < 50; ++i) many.push_back(pair_.connect());
  for (const CommPair& each : many) {
    Request* const received = test::receive(*each.receive, std::array{Buffer{in_[0]}});
    Request* const sent = test::send(*each.send, out_);
    ASSERT_EQ(test::finish(std::array{sent, received}), TestStatus::kDone);
  }
  EXPECT_EQ(pair_.near->lock().contended(), 0U);
  EXPECT_EQ(pair_.far->lock().contended(), 0U);
}

}  // namespace
}  // namespace weft::sendrecv
