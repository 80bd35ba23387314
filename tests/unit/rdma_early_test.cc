// Short messages that go out before their permission. PROTOCOL.md, "Early".
#include <gtest/gtest.h>
#include <rdma/fi_errno.h>

#include <array>
#include <cstring>
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

constexpr std::size_t kShort = 100;
constexpr int kUnresponsive = 13;  ///< EFA's status for a peer that does not answer

bool is_early(const PostEvent& event) {
  return event.verb == Verb::kWriteData && Immediate::from(event.immediate).code == kEarlyCode;
}

class EarlyTest : public testing::Test {
 protected:
  explicit EarlyTest(std::size_t rails = 4) : pair_(rails) {
    exchange(0);  // by which the sender learns that the receiver takes early messages
    pair_.fake.faults().on_post(test::bit(Verb::kWriteData), Selector::never(), {}, [this](const PostEvent& event) {
      early_ += is_early(event) ? 1 : 0;
      return true;
    });
  }

  /// One message, receive first.
  void exchange(int tag) {
    Request* const received = pair_.try_receive(std::array{Buffer{pair_.in(0, kShort), tag}});
    ASSERT_NE(received, nullptr);
    test::progress_rdma(*pair_.far);
    Request* const sent = pair_.send(pair_.out(0, kShort), tag);
    ASSERT_NE(sent, nullptr);
    ASSERT_EQ(test::finish(std::array{received, sent}), TestStatus::kDone);
  }
  /// Without a receive.
  Request* send_early(std::size_t offset, int tag = 0) {
    test::fill(pair_.out(offset, kShort), static_cast<std::uint32_t>(offset));
    Request* const request = pair_.try_send(pair_.out(offset, kShort), tag);
    EXPECT_NE(request, nullptr);
    return request;
  }
  void expect_arrived(std::size_t offset) {
    EXPECT_EQ(test::wrong_bytes(pair_.in(offset, kShort), static_cast<std::uint32_t>(offset)), 0U);
  }
  std::uint64_t strays() { return Adapter::of(*pair_.far).stray_arrivals(); }

  // What the fake's rules use, for as long as it lives.
  int early_ = 0;      ///< messages that went out so
  bool held_ = false;  ///< they do not arrive
  RdmaPair pair_;
};

TEST_F(EarlyTest, FillsTheReceivePostedAfterIt) {
  Request* const sent = send_early(kShort);
  EXPECT_EQ(early_, 1);
  test::progress_rdma(*pair_.far);
  EXPECT_EQ(rdma::test(*sent, nullptr), TestStatus::kPending) << "nobody knows its buffer";
  Request* const received = pair_.receive(pair_.in(kShort, kShort));
  int size = 0;
  EXPECT_TRUE(test::poll_until([&] { return rdma::test(*received, &size) == TestStatus::kDone; }));
  EXPECT_EQ(size, static_cast<int>(kShort));
  EXPECT_EQ(test::finish(std::array{sent}), TestStatus::kDone);
  expect_arrived(kShort);
  EXPECT_EQ(early_, 1);
  EXPECT_EQ(pair_.posts(Verb::kWriteData), 2U) << "sent once";
}

TEST_F(EarlyTest, FillsTheReceiveWhosePermissionIsHeld) {
  Request* const received = pair_.receive(pair_.in(kShort, kShort));
  Request* const sent = send_early(kShort);
  EXPECT_EQ(test::finish(std::array{received, sent}), TestStatus::kDone);
  expect_arrived(kShort);
  EXPECT_EQ(pair_.posts(Verb::kWriteData), 2U);
}

TEST_F(EarlyTest, GoesToTheFirstBufferOfItsTag) {
  Request* const sent = send_early(kShort, 7);
  Request* const received = pair_.try_receive(std::array{
      Buffer{pair_.in(0, kShort), 5}, Buffer{pair_.in(kShort, kShort), 7}, Buffer{pair_.in(2 * kShort, kShort), 7}});
  ASSERT_NE(received, nullptr);
  EXPECT_EQ(rdma::test(*received, nullptr), TestStatus::kPending);
  Request* const second = pair_.send(pair_.out(0, kShort), 7);
  test::fill(pair_.out(0, kShort), 9);
  Request* const third = pair_.send(pair_.out(0, kShort), 5);
  EXPECT_EQ(test::finish(std::array{received, sent, second, third}), TestStatus::kDone);
  expect_arrived(kShort);
}

TEST_F(EarlyTest, OfATagThatIsNotPostedGoesAgainWhenItIs) {
  Request* const sent = send_early(kShort, 7);
  for (int i = 0; i < 3; ++i) exchange(0);
  EXPECT_EQ(rdma::test(*sent, nullptr), TestStatus::kPending);
  Request* const received = pair_.try_receive(std::array{Buffer{pair_.in(kShort, kShort), 7}});
  EXPECT_EQ(test::finish(std::array{received, sent}), TestStatus::kDone);
  expect_arrived(kShort);
  EXPECT_EQ(early_, 1);
}

TEST_F(EarlyTest, ThatIsDelayedIsForgottenWhenOthersHavePassed) {
  held_ = true;
  pair_.fake.faults().delivery = test::Delivery::kOnRead;
  pair_.fake.faults().hold = [this](const PostEvent& event) { return held_ && is_early(event); };
  Request* const sent = send_early(kShort, 7);
  for (std::size_t i = 0; i < kRecvRequests + 1; ++i) exchange(0);
  held_ = false;
  Request* const received = pair_.try_receive(std::array{Buffer{pair_.in(kShort, kShort), 7}});
  EXPECT_EQ(test::finish(std::array{received, sent}), TestStatus::kDone);
  expect_arrived(kShort);
  EXPECT_EQ(strays(), 0U);
  // Its memory is free again: as many more as there is room for.
  for (std::size_t i = 0; i < kEarlySlots; ++i) {
    Request* const next = send_early(kShort);
    EXPECT_EQ(test::finish(std::array{pair_.receive(pair_.in(kShort, kShort)), next}), TestStatus::kDone);
  }
  EXPECT_EQ(early_, 1 + static_cast<int>(kEarlySlots));
}

TEST_F(EarlyTest, PermissionStaysUntilTheSenderHasSeenIt) {
  Request* const sent = send_early(kShort);
  std::vector<Request*> open{pair_.receive(pair_.in(kShort, kShort))};
  EXPECT_EQ(test::finish(open), TestStatus::kDone);
  open.clear();
  for (std::size_t i = 1; i < kRecvRequests; ++i) open.push_back(pair_.receive(pair_.in(0, kShort)));
  EXPECT_EQ(pair_.receive(pair_.in(0, kShort)), nullptr) << "in the slot of the first";
  EXPECT_EQ(test::finish(std::array{sent}), TestStatus::kDone);
  open.push_back(pair_.send(pair_.out(0, kShort)));
  test::progress_rdma(*pair_.far);
  Request* const next = pair_.receive(pair_.in(0, kShort));
  ASSERT_NE(next, nullptr) << "the second message shows that the first permission has been seen";
  open.push_back(next);
  for (std::size_t i = 1; i < kRecvRequests; ++i) open.push_back(pair_.send(pair_.out(0, kShort)));
  EXPECT_EQ(test::finish(open), TestStatus::kDone);
  expect_arrived(kShort);
}

TEST_F(EarlyTest, TooLongForItsReceiveIsAnErrorOfBothEnds) {
  test::LogCapture::current().expect_warning("longer than the 10 bytes of its receive");
  test::LogCapture::current().expect_warning("the receive there was posted with 10 bytes");
  Request* const sent = send_early(kShort);
  Request* const received = pair_.receive(pair_.in(kShort, 10));
  EXPECT_EQ(rdma::test(*received, nullptr), TestStatus::kPending);
  EXPECT_EQ(test::finish(std::array{sent}), TestStatus::kFailed);
  EXPECT_EQ(test::finish(std::array{received}), TestStatus::kFailed);
  EXPECT_EQ(pair_.in(kShort, 10)[0], std::byte{0});
}

TEST_F(EarlyTest, IsNotCopiedIntoMemoryThatHasBeenDeregistered) {
  std::vector<std::byte> gone(kShort);
  MemoryHandle* const memory = pair_.far->register_memory(gone.data(), kShort, kPointerHost).value();
  void* data = gone.data();
  std::size_t size = kShort;
  int tag = 0;
  void* handle = memory;
  Request* request = nullptr;
  ASSERT_EQ(pair_.receiver->receive(1, &data, &size, &tag, &handle, false, request), PostStatus::kPosted);
  send_early(kShort);
  ASSERT_TRUE(pair_.far->deregister_memory(memory));
  test::progress_rdma(*pair_.far);
  EXPECT_EQ(gone, std::vector<std::byte>(kShort));
}

TEST_F(EarlyTest, IsCopiedWhenOtherMemoryHasBeenDeregistered) {
  std::vector<std::byte> other(kShort);
  MemoryHandle* const memory = pair_.far->register_memory(other.data(), kShort, kPointerHost).value();
  Request* const received = pair_.receive(pair_.in(kShort, kShort));
  Request* const sent = send_early(kShort);
  ASSERT_TRUE(pair_.far->deregister_memory(memory));
  EXPECT_EQ(test::finish(std::array{received, sent}), TestStatus::kDone);
  expect_arrived(kShort);
}

TEST_F(EarlyTest, IsNotCopiedByAReceiverThatCloses) {
  ASSERT_NE(pair_.receive(pair_.in(kShort, kShort)), nullptr);
  send_early(kShort);
  pair_.close_receiver();
  EXPECT_EQ(pair_.in(kShort, kShort)[0], std::byte{0});
  EXPECT_EQ(strays(), 1U);
}

TEST_F(EarlyTest, IsNotForAReceiveOfOptionalCompletion) {
  // Its reader may watch the buffer, and a copy is not what a NIC does.
  Request* const sent = send_early(kShort);
  Request* const received = pair_.receive(pair_.in(kShort, kShort), true);
  test::progress_rdma(*pair_.far);
  EXPECT_EQ(pair_.in(kShort, kShort)[0], std::byte{0});
  EXPECT_EQ(test::finish(std::array{received, sent}), TestStatus::kDone);
  expect_arrived(kShort);
  EXPECT_EQ(pair_.posts(Verb::kWriteData), 3U) << "early, and as any other";
}

TEST_F(EarlyTest, IsNotSentToAReceiverThatHasClosed) {
  pair_.close_receiver();
  test::progress_rdma(*pair_.near);
  EXPECT_EQ(pair_.try_send(pair_.out(0, kShort)), nullptr);
  EXPECT_EQ(early_, 0);
}

/// What a peer may write is not believed.
class ForgedEarlyTest : public EarlyTest, public testing::WithParamInterface<void (*)(EarlyHeader&)> {};

TEST_P(ForgedEarlyTest, IsAStray) {
  Request* const received = pair_.receive(pair_.in(kShort, kShort));
  pair_.fake.faults().on_post(test::bit(Verb::kWriteData), Selector::never(), {}, [](const PostEvent& event) {
    EarlyHeader header;
    std::memcpy(&header, event.data, sizeof header);
    GetParam()(header);
    std::memcpy(const_cast<void*>(event.data), &header, sizeof header);
    return true;
  });
  send_early(kShort);
  EXPECT_EQ(rdma::test(*received, nullptr), TestStatus::kPending);
  EXPECT_EQ(strays(), 1U);
  EXPECT_EQ(pair_.in(kShort, kShort)[0], std::byte{0});
}

INSTANTIATE_TEST_SUITE_P(All, ForgedEarlyTest,
                         testing::Values([](EarlyHeader& header) { header.size = kMaxEarlyBytes + 1; },
                                         [](EarlyHeader& header) { header.size = 0; },
                                         [](EarlyHeader& header) { ++header.cookie; },
                                         [](EarlyHeader& header) { ++header.number; },
                                         [](EarlyHeader& header) { header.number += kEarlySlots; },
                                         [](EarlyHeader& header) { --header.number; },
                                         [](EarlyHeader& header) { ++header.sequence; },
                                         [](EarlyHeader& header) { header.sequence += kSequenceMask + 1; }));

TEST_F(EarlyTest, WriteThatFailedIsLookedAfterOnceItsBufferIsKnown) {
  for (const bool arrives : {false, true}) {
    test::LogCapture::current().expect_warning("failed: the peer's NIC does not answer");
    pair_.fake.faults().on_post(
        test::bit(Verb::kWriteData), Selector::nth(1),
        arrives ? PostFault::fail_falsely(FI_EIO, kUnresponsive) : PostFault::fail(FI_EIO, kUnresponsive), is_early);
    Request* const sent = send_early(kShort);
    Request* const received = pair_.receive(pair_.in(kShort, kShort));
    EXPECT_EQ(test::finish(std::array{sent, received}), TestStatus::kDone);
    expect_arrived(kShort);
    std::ranges::fill(pair_.in(kShort, kShort), std::byte{0});
  }
  if (test::LogCapture::current().has(log::Level::kWarn, "works again")) {
    test::LogCapture::current().expect_warning("works again");
  }
}

TEST_F(EarlyTest, DataThatIsAllThereIsNotLostWithThePeer) {
  // The permission was written, so the sender is content and goes; but its acknowledgement was lost.
  test::LogCapture::current().expect_warning("failed: the peer's NIC does not answer");
  test::LogCapture::current().expect_warning("cannot be reached any more");
  Request* const sent = send_early(kShort);
  Request* const received = pair_.receive(pair_.in(kShort, kShort));
  pair_.fake.faults().on_post(test::kOneSided, Selector::nth(1), PostFault::fail_falsely(FI_EIO, kUnresponsive),
                              [&](const PostEvent& event) { return event.from > pair_.rails(); });
  pair_.fake.faults().on_post(test::kOneSided, Selector::always(), PostFault::fail(FI_EIO, kUnresponsive),
                              [&](const PostEvent& event) { return event.from > pair_.rails(); });
  test::progress_rdma(*pair_.far);
  EXPECT_EQ(test::finish(std::array{sent}), TestStatus::kDone);
  pair_.close_sender();
  EXPECT_EQ(test::finish(std::array{received}), TestStatus::kDone);
  expect_arrived(kShort);
}

}  // namespace
}  // namespace weft::rdma
