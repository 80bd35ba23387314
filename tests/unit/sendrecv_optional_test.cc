// Receives whose completion the caller does not need.
#include <gtest/gtest.h>
#include <rdma/fi_errno.h>

#include <array>
#include <vector>

#include "tests/support/comm_pair.h"
#include "tests/support/log_capture.h"

namespace weft::sendrecv {
namespace {

using test::Buffer;
using test::CommPair;
using test::DevicePair;

constexpr bool kOptional = true;

class AutoProgressTest : public testing::Test {
 protected:
  AutoProgressTest() : pair_({}, test::patient_options(), true), comms_(pair_.connect()) {}
  DevicePair pair_;
  CommPair comms_;
  std::array<std::byte, 32> out_{};
  std::array<std::byte, 32> in_{};
};

TEST_F(AutoProgressTest, ReceiveIsDoneAsSoonAsItIsPostedAndReportsNoSize) {
  test::fill(out_, 1);
  Request* const received = test::receive(*comms_.receive, std::array{Buffer{in_}, Buffer{}}, kOptional);
  std::array<int, 2> sizes = {-1, -1};
  EXPECT_EQ(sendrecv::test(*received, sizes.data()), TestStatus::kDone);
  EXPECT_EQ(sizes, (std::array{0, 0}));
  const std::array sends = {test::send(*comms_.send, out_), test::send(*comms_.send, {})};
  EXPECT_EQ(test::finish(sends), TestStatus::kDone);
  EXPECT_EQ(in_, out_) << "the data arrives nevertheless";
}

TEST_F(AutoProgressTest, ReceiveWhoseDataIsThereReportsItsSize) {
  ASSERT_EQ(test::finish(test::send(*comms_.send, out_), nullptr), TestStatus::kDone);
  Request* const received = test::receive(*comms_.receive, std::array{Buffer{in_}}, kOptional);
  int size = -1;
  EXPECT_EQ(sendrecv::test(*received, &size), TestStatus::kDone);
  EXPECT_EQ(size, 32);
}

TEST_F(AutoProgressTest, SlotStaysTakenUntilTheDataIsThere) {
  std::vector<std::array<std::byte, 32>> in(kRecvRequests);
  for (auto& each : in) {
    Request* request = nullptr;
    ASSERT_EQ(test::try_receive(*comms_.receive, std::array{Buffer{each}}, request, kOptional), PostStatus::kPosted);
    ASSERT_EQ(sendrecv::test(*request, nullptr), TestStatus::kDone);
  }
  Request* request = nullptr;
  EXPECT_EQ(test::try_receive(*comms_.receive, std::array{Buffer{in_}}, request, kOptional), PostStatus::kAgain);
  ASSERT_NE(test::send(*comms_.send, out_), nullptr);
  test::progress(*pair_.far);
  EXPECT_EQ(test::try_receive(*comms_.receive, std::array{Buffer{in_}}, request, kOptional), PostStatus::kPosted);
}

TEST_F(AutoProgressTest, ReceiveThatTheProviderHasNotTakenYetIsNotDone) {
  pair_.fake.faults().on_post(test::bit(test::Verb::kTaggedReceive), test::Selector::from(2, 20),
                              test::PostFault::again());
  Request* const received = test::receive(*comms_.receive, std::array{Buffer{in_}, Buffer{}}, kOptional);
  EXPECT_EQ(sendrecv::test(*received, nullptr), TestStatus::kPending);
  EXPECT_EQ(test::finish(received, nullptr), TestStatus::kDone);
  EXPECT_EQ(pair_.fake.faults().fired(), 20U);
}

TEST_F(AutoProgressTest, ErrorOfADetachedReceiveFailsTheCommunicator) {
  test::LogCapture::current().expect_warning("is longer than");
  test::LogCapture::current().expect_warning("did not fit");
  std::array<std::byte, 4> small{};
  Request* const received = test::receive(*comms_.receive, std::array{Buffer{small}}, kOptional);
  ASSERT_EQ(sendrecv::test(*received, nullptr), TestStatus::kDone);
  ASSERT_NE(test::send(*comms_.send, out_), nullptr);
  pair_.progress();
  Request* request = nullptr;
  EXPECT_EQ(test::try_receive(*comms_.receive, std::array{Buffer{in_}}, request), PostStatus::kFailed);
  pair_.progress();
  EXPECT_TRUE(comms_.send->failed());
}

TEST_F(AutoProgressTest, DetachedReceivesAreCancelledByClosing) {
  for (int i = 0; i < 5; ++i) {
    Request* const received = test::receive(*comms_.receive, std::array{Buffer{in_}}, kOptional);
    ASSERT_EQ(sendrecv::test(*received, nullptr), TestStatus::kDone);
  }
  comms_.receive.reset();
  EXPECT_EQ(pair_.fake.posted_receives(test::kFarEndpoint), ControlChannel::kReceives);
  const SpinGuard guard(pair_.far->lock());
  EXPECT_EQ(pair_.far->closing_count(), 0U);
}

TEST(ManualProgressTest, OptionalReceiveIsDoneOnlyWithItsData) {
  // Without us the provider would not move the data, and nobody would ask again.
  DevicePair pair;
  const CommPair comms = pair.connect();
  std::array<std::byte, 32> out{};
  std::array<std::byte, 32> in{};
  test::fill(out, 1);
  Request* const received = test::receive(*comms.receive, std::array{Buffer{in}}, kOptional);
  EXPECT_EQ(sendrecv::test(*received, nullptr), TestStatus::kPending);
  ASSERT_NE(test::send(*comms.send, out), nullptr);
  int size = -1;
  EXPECT_EQ(test::finish(received, &size), TestStatus::kDone);
  EXPECT_EQ(size, 32);
  EXPECT_EQ(in, out);
}

}  // namespace
}  // namespace weft::sendrecv
