// Writes that are reported failed: they may not have arrived, may have, or may still. PROTOCOL.md, "In doubt".
#include <gtest/gtest.h>
#include <rdma/fi_errno.h>

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "tests/support/log_capture.h"
#include "tests/support/rdma_pair.h"

namespace weft::rdma {
namespace {

using test::Buffer;
using test::PostEvent;
using test::PostFault;
using test::RdmaPair;
using test::Selector;
using test::Verb;

constexpr int kUnresponsive = 13;  ///< EFA's status for a peer that does not answer: it takes the rail out
constexpr int kNotReady = 10;      ///< ... for one that cannot take it now: it does not
constexpr std::size_t kShort = 100;
constexpr std::size_t kLong = 700'000;  ///< a stripe on every one of four rails
constexpr std::size_t kLate = 4000;     ///< what the fake can keep for later

/// Who fails which operation, and how: the next `count` of the verb.
void next_fail(RdmaPair& pair, Verb verb, const PostFault& fault, std::uint64_t count = 1) {
  pair.fake.faults().on_post(test::bit(verb), Selector::from(1, count), fault);
}

class DoubtTest : public testing::Test {
 protected:
  explicit DoubtTest(std::size_t rails = 4) : pair_(rails) {}

  /// One message whose first stripe is treated so; it must arrive all the same.
  void expect_arrives(std::size_t bytes, const PostFault& fault) {
    next_fail(pair_, Verb::kWriteData, fault);
    test::fill(pair_.out(0, bytes), 7);
    Request* const received = pair_.receive(pair_.in(0, bytes));
    test::progress_rdma(*pair_.far);
    Request* const sent = pair_.send(pair_.out(0, bytes));
    ASSERT_TRUE(received != nullptr && sent != nullptr);
    ASSERT_EQ(test::finish(std::array{received, sent}), TestStatus::kDone);
    EXPECT_EQ(test::wrong_bytes(pair_.in(0, bytes), 7), 0U);
    EXPECT_GE(pair_.fake.faults().fired(), 1U);
  }
  void expect_rail_fails() { test::LogCapture::current().expect_warning("failed: the peer's NIC does not answer"); }
  /// A rail that has failed may be back before the test ends, or not.
  ~DoubtTest() override {
    if (test::LogCapture::current().has(log::Level::kWarn, "works again")) {
      test::LogCapture::current().expect_warning("works again");
    }
  }

  RdmaPair pair_;
};

TEST_F(DoubtTest, WhatHasNotArrivedIsSentAnew) {
  expect_rail_fails();
  expect_arrives(kShort, PostFault::fail(FI_EIO, kUnresponsive));
  EXPECT_EQ(pair_.posts(Verb::kRead), 1U) << "it looks first";
  EXPECT_EQ(pair_.posts(Verb::kWriteData), 3U) << "the message, the question, the message again";
}

TEST_F(DoubtTest, AStripeThatHasNotArrivedIsSentAnewWithTheOthers) {
  expect_rail_fails();
  // Its rail stays out, so that the second attempt is cut otherwise: what came of the first must not be counted.
  pair_.fake.faults().on_post(test::bit(Verb::kWrite), Selector::always(), PostFault::fail(FI_EIO, kUnresponsive),
                              [&](const PostEvent& event) { return event.from <= pair_.rails(); });
  expect_arrives(kLong, PostFault::fail(FI_EIO, kUnresponsive));
}

TEST_F(DoubtTest, WhatHasArrivedIsNotSentAgain) {
  expect_rail_fails();
  expect_arrives(kShort, PostFault::fail_falsely(FI_EIO, kUnresponsive));
  EXPECT_EQ(pair_.posts(Verb::kWriteData), 1U);
}

TEST_F(DoubtTest, WhatArrivesLateIsNotMistakenForTheSecondAttempt) {
  expect_rail_fails();
  // On its way until the sender has waited, and then there, before anybody asks.
  bool held = true;
  const auto begin = Clock::now();
  Clock::time_point looked;
  pair_.fake.faults().hold = [&](const PostEvent& event) { return event.late && held; };
  pair_.fake.faults().on_post(test::bit(Verb::kRead), Selector::never(), {}, [&](const PostEvent&) {
    if (std::exchange(held, false)) looked = Clock::now();
    return true;
  });
  expect_arrives(kLate, PostFault::fail_too_early(FI_EIO, kUnresponsive));
  EXPECT_GE(looked - begin, kDrain);
}

TEST_F(DoubtTest, TheErrorThatDoesNotLastLeavesTheRail) {
  expect_arrives(kLong, PostFault::fail(FI_EIO, kNotReady));
  EXPECT_FALSE(test::LogCapture::current().has(log::Level::kWarn, "rail"));
}

/// Two rails, of which one is out for good.
class LastPathTest : public DoubtTest {
 protected:
  LastPathTest() : DoubtTest(2) {}

  /// Whatever the sender does on its second rail fails, and on the first what `also` says.
  template <class Also>
  void fail_posts(Also also) {
    pair_.fake.faults().on_post(test::bit(Verb::kWrite) | test::bit(Verb::kWriteData) | test::bit(Verb::kRead),
                                Selector::always(), PostFault::fail(FI_EIO, kUnresponsive),
                                [also](const PostEvent& event) { return event.from == 2 || also(event); });
  }
  TestStatus exchange(std::size_t bytes = kShort) {
    Request* const received = pair_.receive(pair_.in(0, bytes));
    test::progress_rdma(*pair_.far);
    Request* const sent = pair_.send(pair_.out(0, bytes));
    EXPECT_TRUE(received != nullptr && sent != nullptr);
    return test::finish(std::array{sent, received});
  }
  void expect_second_rail_fails() {
    test::LogCapture::current().expect_warning("Going on over 1 of 2 rails");
    while (!test::LogCapture::current().has(log::Level::kWarn, "Going on over 1 of 2 rails")) {
      ASSERT_EQ(exchange(), TestStatus::kDone);
    }
  }
};

TEST_F(LastPathTest, ErrorsThatDoNotLastAreNotTheEnd) {
  const auto errors = std::make_shared<int>(0);  // the fake keeps its rules to its end
  fail_posts([errors](const PostEvent& event) {
    return event.from == 1 && event.verb == Verb::kWriteData && *errors > 0 && (*errors)-- > 0;
  });
  expect_second_rail_fails();
  *errors = 3;
  while (*errors > 0) ASSERT_EQ(exchange(), TestStatus::kDone);
  ASSERT_EQ(exchange(), TestStatus::kDone);
  EXPECT_FALSE(test::LogCapture::current().has(log::Level::kWarn, "cannot be reached"));
}

TEST_F(LastPathTest, ErrorsThatLastAreTheEnd) {
  const auto all = std::make_shared<bool>(false);
  fail_posts([all](const PostEvent& event) { return event.from == 1 && *all; });
  expect_second_rail_fails();
  test::LogCapture::current().expect_warning("cannot be reached any more over any of 2 rails");
  *all = true;
  EXPECT_EQ(exchange(), TestStatus::kFailed);
}

TEST_F(LastPathTest, WhatFailsWhileProbesDoNotIsTheMessagesOwnFault) {
  const auto messages = std::make_shared<bool>(false);
  fail_posts([messages](const PostEvent& event) {
    return event.from == 1 && *messages && event.verb == Verb::kWriteData && event.size > 0;
  });
  expect_second_rail_fails();
  *messages = true;
  EXPECT_EQ(exchange(), TestStatus::kFailed);
  test::LogCapture::current().expect_warning("100 bytes) failed");
  EXPECT_FALSE(test::LogCapture::current().has(log::Level::kWarn, "cannot be reached"));
}

TEST_F(DoubtTest, AReceiverThatHasClosedAnswersNoMore) {
  expect_rail_fails();
  next_fail(pair_, Verb::kWriteData, PostFault::fail(FI_EIO, kUnresponsive));
  ASSERT_NE(pair_.receive(pair_.in(0, kShort)), nullptr);
  test::progress_rdma(*pair_.far);
  Request* const sent = pair_.send(pair_.out(0, kShort));
  ASSERT_NE(sent, nullptr);
  pair_.close_receiver();
  EXPECT_EQ(test::finish(std::array{sent}), TestStatus::kFailed);
  test::LogCapture::current().expect_warning("closed its end of a connection");
}

TEST(DoubtStallTest, APeerThatNeverAnswersIsNamedThoughItIsAskedAgainAndAgain) {
  auto options = test::patient_options();
  options.stall_warning = std::chrono::milliseconds(1200);  // two answers and more could have come
  RdmaPair pair(2, options);
  test::LogCapture::current().expect_warning("failed: the peer's NIC does not answer");
  test::LogCapture::current().expect_warning("works again");
  test::LogCapture::current().expect_warning("say whether it arrived all the same, with peer");
  next_fail(pair, Verb::kWriteData, PostFault::fail(FI_EIO, kUnresponsive));
  Request* const received = pair.receive(pair.in(0, kShort));
  test::progress_rdma(*pair.far);
  Request* const sent = pair.send(pair.out(0, kShort));
  ASSERT_TRUE(received != nullptr && sent != nullptr);
  // The receiver calls nothing, as a process that is stuck; its NIC answers all the same.
  EXPECT_TRUE(test::poll_until([&] {
    EXPECT_EQ(rdma::test(*sent, nullptr), TestStatus::kPending);
    return test::LogCapture::current().has(log::Level::kWarn, "have not moved");
  }));
  EXPECT_GE(pair.posts(Verb::kRead), 2U) << "it has asked more than once";
  EXPECT_EQ(test::finish(std::array{received, sent}), TestStatus::kDone) << "and goes on when it is answered";
}

TEST_F(DoubtTest, OneOfAGroupIsDoneBeforeTheOthers) {
  expect_rail_fails();
  next_fail(pair_, Verb::kWriteData, PostFault::fail_falsely(FI_EIO, kUnresponsive));
  test::fill(pair_.out(0, kShort), 1);
  test::fill(pair_.out(kShort, kShort), 2);
  Request* const received =
      pair_.try_receive(std::array{Buffer{pair_.in(0, kShort), 1}, Buffer{pair_.in(kShort, kShort), 2}});
  test::progress_rdma(*pair_.far);
  Request* const first = pair_.send(pair_.out(0, kShort), 1);
  ASSERT_NE(first, nullptr);
  // The receive as a whole is not done: only the receiver can say that this buffer is.
  EXPECT_TRUE(test::poll_until([&] {
    EXPECT_EQ(rdma::test(*received, nullptr), TestStatus::kPending);
    return rdma::test(*first, nullptr) == TestStatus::kDone;
  }));
  EXPECT_EQ(pair_.posts(Verb::kWriteData), 2U) << "the message and the question";
  Request* const second = pair_.send(pair_.out(kShort, kShort), 2);
  EXPECT_EQ(test::finish(std::array{received, second}), TestStatus::kDone);
  EXPECT_EQ(test::wrong_bytes(pair_.in(0, kShort), 1) + test::wrong_bytes(pair_.in(kShort, kShort), 2), 0U);
}

TEST_F(DoubtTest, LookAndQuestionAndAnswerMayFailToo) {
  test::LogCapture::current().expect_warning("failed: the peer's NIC does not answer");
  Request* const received = pair_.receive(pair_.in(0, kShort));
  test::progress_rdma(*pair_.far);
  test::progress_rdma(*pair_.far);
  next_fail(pair_, Verb::kRead, PostFault::fail(FI_EIO, kNotReady));
  // The message, which takes its rail out, and the question.
  next_fail(pair_, Verb::kWriteData, PostFault::fail(FI_EIO, kUnresponsive));
  next_fail(pair_, Verb::kWriteData, PostFault::fail(FI_EIO, kNotReady));
  // The answer, among the probes of the sender's rail.
  pair_.fake.faults().on_post(test::bit(Verb::kWrite), Selector::nth(1), PostFault::fail(FI_EIO, kNotReady),
                              [&](const PostEvent& event) { return event.from > pair_.rails(); });
  test::fill(pair_.out(0, kShort), 3);
  Request* const sent = pair_.send(pair_.out(0, kShort));
  EXPECT_EQ(test::finish(std::array{received, sent}), TestStatus::kDone);
  EXPECT_EQ(test::wrong_bytes(pair_.in(0, kShort), 3), 0U);
  EXPECT_EQ(pair_.fake.faults().fired(), 4U);
}

TEST_F(DoubtTest, APermissionThatHasNotArrivedIsWrittenAgain) {
  expect_rail_fails();
  next_fail(pair_, Verb::kWrite, PostFault::fail(FI_EIO, kUnresponsive));
  test::fill(pair_.out(0, kShort), 4);
  Request* const received = pair_.receive(pair_.in(0, kShort));
  Request* sent = nullptr;
  EXPECT_TRUE(test::poll_until([&] {
    EXPECT_EQ(rdma::test(*received, nullptr), TestStatus::kPending);
    return (sent = pair_.try_send(pair_.out(0, kShort))) != nullptr;
  }));
  ASSERT_NE(sent, nullptr);
  EXPECT_EQ(test::finish(std::array{received, sent}), TestStatus::kDone);
  EXPECT_EQ(test::wrong_bytes(pair_.in(0, kShort), 4), 0U);
}

TEST_F(DoubtTest, AReceiveIsNotDoneWhileItsPermissionMayStillArrive) {
  expect_rail_fails();
  next_fail(pair_, Verb::kWrite, PostFault::fail_falsely(FI_EIO, kUnresponsive));
  Request* const received = pair_.receive(pair_.in(0, kShort));
  const auto failed = Clock::now();
  test::progress_rdma(*pair_.far);
  Request* const sent = pair_.send(pair_.out(0, kShort));
  ASSERT_NE(sent, nullptr) << "it had arrived";
  EXPECT_EQ(test::finish(std::array{received, sent}), TestStatus::kDone);
  EXPECT_GE(Clock::now() - failed, kDrain);
}

TEST_F(DoubtTest, AnOptionalReceiveIsKeptUntilItsDataIsThere) {
  // Nobody would call us to answer what its sender may ask.
  test::fill(pair_.out(0, kShort), 5);
  Request* const received = pair_.receive(pair_.in(0, kShort), true);
  EXPECT_EQ(rdma::test(*received, nullptr), TestStatus::kPending);
  EXPECT_EQ(rdma::test(*received, nullptr), TestStatus::kPending);
  Request* const sent = pair_.send(pair_.out(0, kShort));
  EXPECT_EQ(test::finish(std::array{sent}), TestStatus::kDone);
  int size = -1;
  EXPECT_EQ(rdma::test(*received, &size), TestStatus::kDone);
  EXPECT_EQ(size, static_cast<int>(kShort));
  EXPECT_EQ(test::wrong_bytes(pair_.in(0, kShort), 5), 0U);
}

TEST_F(DoubtTest, WithoutAnyRailEverythingFailsWithOneLine) {
  test::LogCapture::current().expect_warning("cannot be reached any more over any of 4 rails");
  expect_rail_fails();
  Request* const received = pair_.receive(pair_.in(0, kLong));
  test::progress_rdma(*pair_.far);
  pair_.fake.faults().on_post(test::kOneSided, Selector::always(), PostFault::fail(FI_EIO, kUnresponsive),
                              [&](const PostEvent& event) { return event.from <= pair_.rails(); });
  Request* const sent = pair_.send(pair_.out(0, kLong));
  ASSERT_NE(sent, nullptr);
  EXPECT_EQ(test::finish(std::array{sent}), TestStatus::kFailed);
  EXPECT_EQ(pair_.try_send(pair_.out(0, kShort)), nullptr);
  EXPECT_TRUE(pair_.sender->failed());
  EXPECT_EQ(rdma::test(*received, nullptr), TestStatus::kPending) << "this side has seen nothing";
}

/// On one rail an optional receive is given back before its data, and nobody tests it any more.
class DetachedTest : public DoubtTest {
 protected:
  DetachedTest() : DoubtTest(1) {}

  /// Given back, with its permission at the sender.
  void receive_and_forget(std::size_t offset) {
    Request* const request = pair_.receive(pair_.in(offset, kShort), true);
    ASSERT_NE(request, nullptr);
    EXPECT_TRUE(test::poll_until([&] { return rdma::test(*request, nullptr) == TestStatus::kDone; }));
  }
};

TEST_F(DetachedTest, ReceiveKeepsItsSlotUntilItsDataIsThere) {
  for (std::size_t i = 0; i < kRecvRequests; ++i) receive_and_forget(i * kShort);
  EXPECT_EQ(pair_.receive(pair_.in(0, kShort)), nullptr);
  test::fill(pair_.out(0, kShort), 6);
  Request* const sent = pair_.send(pair_.out(0, kShort));
  EXPECT_EQ(test::finish(std::array{sent}), TestStatus::kDone);
  EXPECT_EQ(test::wrong_bytes(pair_.in(0, kShort), 6), 0U);
  test::progress_rdma(*pair_.far);
  EXPECT_NE(pair_.receive(pair_.in(kRecvRequests * kShort, kShort)), nullptr);
}

TEST_F(DetachedTest, ReceiveWhoseAnswerFailedRecovers) {
  // The receiver's ring is full: each of its calls finds no room.
  for (std::size_t i = 0; i < kRecvRequests; ++i) receive_and_forget(i * kShort);
  next_fail(pair_, Verb::kWriteData, PostFault::fail(FI_EIO, kNotReady));
  // The sender has the answer, and will not ask again.
  next_fail(pair_, Verb::kWrite, PostFault::fail_falsely(FI_EIO, kNotReady));
  test::fill(pair_.out(0, kShort), 8);
  Request* const sent = pair_.send(pair_.out(0, kShort));
  ASSERT_NE(sent, nullptr);
  Request* received = nullptr;
  EXPECT_TRUE(test::poll_until([&] {
    received = pair_.receive(pair_.in(0, kShort));
    return rdma::test(*sent, nullptr) == TestStatus::kDone;
  }));
  EXPECT_EQ(pair_.fake.faults().fired(), 2U) << "the message and the answer";
  EXPECT_EQ(test::wrong_bytes(pair_.in(0, kShort), 8), 0U);
  // Its slot is free again, but not before the answer has left the wire for certain.
  EXPECT_EQ(received, nullptr);
  EXPECT_TRUE(test::poll_until([&] { return pair_.receive(pair_.in(0, kShort)) != nullptr; }));
}

}  // namespace
}  // namespace weft::rdma
