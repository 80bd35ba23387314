// Knobs that make work requests fail, and what libfabric says then.
#include <unistd.h>

#include "tests/emulation/efa/tests/link.h"

namespace weft::emulation::efa {
namespace {

using FailureTest = Link;
INSTANTIATE_TEST_SUITE_P(Fabrics, FailureTest, fabrics(), fabric_name);

constexpr size_t kSize = 4096;

TEST_P(FailureTest, FailedNicEndsItsWritesUntilItIsRestored) {
  fail(from);
  ASSERT_TRUE(sender.write(1, 0, kSize));
  ASSERT_TRUE(wait_for_error());
  if (is_direct()) {
    EXPECT_EQ(device_error(), 13);
  }
  EXPECT_EQ(arrived(), 0u);
  restore(from);
  forget();
  ASSERT_TRUE(sender.write(2, 0, kSize));
  ASSERT_TRUE(settle(1));
  EXPECT_TRUE(errors().empty());
  EXPECT_EQ(immediates(), std::vector<uint64_t>{2});
}

TEST_P(FailureTest, FailedNicIsUnresponsiveToItsPeers) {
  fail(to);
  ASSERT_TRUE(sender.write(1, 0, kSize));
  ASSERT_TRUE(wait_for_error());
  if (is_direct()) {
    EXPECT_EQ(device_error(), 13);
  }
  restore(to);
  forget();
  ASSERT_TRUE(sender.write(2, 0, kSize));
  ASSERT_TRUE(settle(1));
  EXPECT_TRUE(errors().empty());
}

TEST_P(FailureTest, NicFailsAfterSoManyWorkRequests) {
  from.knobs.fail_after = 3;
  for (uint64_t i = 0; i < 4; ++i) ASSERT_TRUE(sender.write(i, 0, kSize));
  ASSERT_TRUE(run_until(both(), [&] { return sender.events().size() == 4; }));
  EXPECT_EQ(errors().size(), 2u) << "the third and the fourth";
  EXPECT_EQ(from.knobs.fail_status, 13u);
  ASSERT_TRUE(run_until(both(), [&] { return arrived() == 2; }));
}

TEST_P(FailureTest, ErrorProbabilityHitsWithItsStatus) {
  from.knobs.error_status = 7;
  from.knobs.error_ppm = 1'000'000;
  ASSERT_TRUE(sender.write(1, 0, kSize));
  ASSERT_TRUE(wait_for_error());
  if (is_direct()) {
    EXPECT_EQ(device_error(), 7);
  }
  EXPECT_GE(from.counters.errors, 1u);
}

TEST_P(FailureTest, WrongKeyIsRefusedByTheTarget) {
  ASSERT_TRUE(sender.write(1, 0, kSize, receiver.card().key ^ 0x10000));
  ASSERT_TRUE(wait_for_error());
  if (is_direct()) {
    EXPECT_EQ(device_error(), 7);
  }
  EXPECT_EQ(arrived(), 0u);
}

TEST_P(FailureTest, ReceiverNotReadyIsTriedAgain) {
  to.knobs.rnr_ppm = 1'000'000;
  ASSERT_TRUE(sender.write(1, 0, kSize));
  ASSERT_TRUE(run_until(both(), [&] { return from.counters.not_ready >= 2; }));
  EXPECT_EQ(arrived(), 0u);
  to.knobs.rnr_ppm = 0;
  ASSERT_TRUE(settle(1));
  EXPECT_EQ(immediates(), std::vector<uint64_t>{1});
}

// For efa-direct alone. Closing an endpoint of efa waits for its operations without a limit, and a flushed receive of
// its own is to efa a reason to abort the process.
using DirectTest = Link;
INSTANTIATE_TEST_SUITE_P(Fabrics, DirectTest, testing::Values(std::string("efa-direct")), fabric_name);

TEST_P(DirectTest, BlackholeSwallowsWithoutACompletion) {
  from.knobs.blackhole = 1;
  ASSERT_TRUE(sender.write(1, 0, kSize));
  ASSERT_TRUE(run_until(both(), [&] { return from.counters.swallowed == 1; }));
  restore(from);
  ASSERT_TRUE(sender.write(2, 0, kSize));
  ASSERT_TRUE(run_until(both(), [&] { return arrived() == 1 && sender.events().size() == 1; }));
  EXPECT_EQ(immediates(), std::vector<uint64_t>{2}) << "the first is gone for good";
}

// The queue pair of the sender: the only one of this process on that NIC.
uint32_t own_pair(const SharedDevice& nic) {
  for (const QueuePairSlot& slot : nic.queue_pairs) {
    if (slot.state != 0 && slot.pid == getpid()) return slot.number;
  }
  return 0;
}

TEST_P(DirectTest, BrokenQueuePairStaysBrokenAndTheNicLives) {
  from.knobs.fail_qpn = own_pair(from);
  ASSERT_NE(from.knobs.fail_qpn, 0u);
  ASSERT_TRUE(sender.write(1, 0, kSize));
  ASSERT_TRUE(wait_for_error());
  if (is_direct()) {
    EXPECT_EQ(device_error(), 1) << "flushed";
  }
  EXPECT_EQ(from.knobs.fail_status, 0u);
  forget();
  Station other(GetParam(), 0);
  other.connect(receiver.card());
  receiver.connect(other.card());
  ASSERT_TRUE(other.write(3, 0, kSize));
  ASSERT_TRUE(run_until({&other, &sender, &receiver}, [&] { return arrived() == 1; })) << "another queue pair works";
}

TEST_P(DirectTest, NicFailureCanTakeItsQueuePairsAlong) {
  from.knobs.fail_qps = 1;
  fail(from);
  ASSERT_TRUE(sender.write(1, 0, kSize));
  ASSERT_TRUE(wait_for_error());
  from.knobs.fail_qps = 0;
  restore(from);
  for (const QueuePairSlot& slot : from.queue_pairs) {
    if (slot.state != 0 && slot.pid == getpid()) {
      EXPECT_EQ(slot.state, 7u) << "IBV_QPS_ERR + 1";
    }
  }
}

}  // namespace
}  // namespace weft::emulation::efa
