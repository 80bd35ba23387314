// Errors: who hears of them, what they say, and whom they leave alone.
#include <gtest/gtest.h>
#include <rdma/fi_errno.h>

#include <array>
#include <string>
#include <vector>

#include "tests/support/comm_pair.h"
#include "tests/support/log_capture.h"

namespace weft::sendrecv {
namespace {

using namespace std::chrono_literals;
using test::bit;
using test::Buffer;
using test::CommPair;
using test::DevicePair;
using test::LogCapture;
using test::PostFault;
using test::Selector;
using test::Verb;

DeviceOptions watchful() {
  auto options = test::patient_options();
  options.peer_check = 5ms;
  return options;
}

/// Polls the communicator as a proxy thread would until its calls fail.
bool becomes_failed(SendComm& comm, std::chrono::milliseconds limit = 10s) {
  const std::array<std::byte, 8> bytes{};
  return test::poll_until(
      [&] {
        Request* request = nullptr;
        const PostStatus status = test::try_send(comm, bytes, 0, request);
        if (request != nullptr) sendrecv::test(*request, nullptr);
        return status == PostStatus::kFailed;
      },
      limit);
}
bool becomes_failed(Request* request, std::chrono::milliseconds limit = 10s) {
  return test::finish(request, nullptr, limit) == TestStatus::kFailed;
}

/// The connection carries data in its direction.
void expect_works(const CommPair& comms) {
  std::array<std::byte, 500> out{};
  std::array<std::byte, 500> in{};
  test::fill(out, 4);
  Request* const received = test::receive(*comms.receive, std::array{Buffer{in, 1}});
  Request* const sent = test::send(*comms.send, out, 1);
  ASSERT_NE(received, nullptr) << comms.receive->error().what;
  ASSERT_NE(sent, nullptr) << comms.send->error().what;
  ASSERT_EQ(test::finish(std::array{sent, received}), TestStatus::kDone);
  EXPECT_EQ(in, out);
}

std::size_t warnings() {
  std::size_t count = 0;
  for (const auto& line : LogCapture::current().lines()) count += line.level == log::Level::kWarn ? 1 : 0;
  return count;
}

class TruncationTest : public testing::Test {
 protected:
  TruncationTest() : pair_({}, watchful()), comms_(pair_.connect()), other_(pair_.connect()) {
    LogCapture::current().expect_warning("is longer than the 10 bytes of its receive");
    LogCapture::current().expect_warning("did not fit");
  }
  /// A message of 25 bytes for a receive of 10.
  void truncate() {
    received_ = test::receive(*comms_.receive, std::array{Buffer{in_, 6}});
    sent_ = test::send(*comms_.send, out_, 6);
    ASSERT_TRUE(received_ != nullptr && sent_ != nullptr);
  }
  void expect_both_know() {
    EXPECT_TRUE(becomes_failed(received_));
    EXPECT_EQ(comms_.receive->error().code, Code::kTruncated);
    EXPECT_NE(comms_.receive->error().what.find("tag 6, sequence 0"), std::string::npos);
    EXPECT_TRUE(becomes_failed(*comms_.send));
    EXPECT_EQ(comms_.send->error().code, Code::kTruncated);
    const std::string& said = comms_.send->error().what;
    for (const char* part : {"message of 25 bytes", "tag 6, sequence 0", "posted with 10 bytes", "host "}) {
      EXPECT_NE(said.find(part), std::string::npos) << part << " in: " << said;
    }
    Request* request = nullptr;
    EXPECT_EQ(test::try_receive(*comms_.receive, std::array{Buffer{in_}}, request), PostStatus::kFailed);
    expect_works(other_);
  }

  std::array<std::byte, 25> out_{};
  std::array<std::byte, 10> in_{};
  DevicePair pair_;
  CommPair comms_;
  CommPair other_;
  Request* received_ = nullptr;
  Request* sent_ = nullptr;
};

TEST_F(TruncationTest, IsReportedToBothSidesAndToNobodyElse) {
  truncate();
  expect_both_know();
}

TEST_F(TruncationTest, IsReportedToTheSenderWhenTheNoticeIsFirstRefusedForNow) {
  truncate();
  pair_.fake.faults().on_post(bit(Verb::kSend), Selector::from(1, 3), PostFault::again());
  EXPECT_TRUE(becomes_failed(received_));
  // The receiving end goes on asking, as a caller with more requests in flight does.
  EXPECT_TRUE(test::poll_until([&] {
    sendrecv::test(*received_, nullptr);
    return pair_.fake.faults().fired() == 3;
  }));
  test::poll_until([&] { return sendrecv::test(*received_, nullptr) != TestStatus::kFailed; }, 20ms);
  expect_both_know();
}

TEST_F(TruncationTest, IsReportedToTheSenderWhenTheReceiverClosesAtOnce) {
  truncate();
  pair_.fake.faults().on_post(bit(Verb::kSend), Selector::from(1, 1), PostFault::again());
  EXPECT_TRUE(becomes_failed(received_));
  comms_.receive.reset();
  EXPECT_TRUE(becomes_failed(*comms_.send));
  EXPECT_EQ(comms_.send->error().code, Code::kTruncated) << comms_.send->error().what;
}

TEST(TruncationUnknownSizeTest, SenderIsNotToldOfAMessageOfZeroBytes) {
  // Not every provider says how much did not fit; the notice then has a zero where the size should be.
  LogCapture::current().expect_warning("did not fit");
  DevicePair pair;
  const CommPair comms = pair.connect();
  test::Stranger wire(pair.fake);
  Notice notice{};
  notice.kind = NoticeKind::kTruncated;
  notice.header = make_header(ControlType::kNotice, TransportId::kSendRecv, sizeof notice, comms.send->key());
  notice.posted_bytes = 10;
  wire.send_control(*pair.near, notice);
  ASSERT_TRUE(becomes_failed(*comms.send));
  EXPECT_EQ(comms.send->error().what.find("of 0 bytes"), std::string::npos) << comms.send->error().what;
}

TEST(ErrorCompletionTest, FailedSendFailsItsCommunicatorOnlyAndSaysWhich) {
  LogCapture::current().expect_warning("an operation on fake0 with peer host");
  DevicePair pair;
  const CommPair comms = pair.connect();
  const CommPair other = pair.connect();
  pair.fake.faults().on_post(bit(Verb::kTaggedSend), Selector::nth(1), PostFault::fail(FI_EIO, 321));
  const std::array<std::byte, 40> out{};
  Request* const sent = test::send(*comms.send, out, 12);
  EXPECT_TRUE(becomes_failed(sent));
  const std::string& said = error_of(*sent).what;
  EXPECT_EQ(error_of(*sent).code, Code::kSystem);
  for (const char* part : {"tag 12, sequence 0, 40 bytes", "fake error 321", "Input/output error"}) {
    EXPECT_NE(said.find(part), std::string::npos) << part << " in: " << said;
  }
  EXPECT_TRUE(becomes_failed(*comms.send)) << "it stays failed";
  EXPECT_FALSE(comms.receive->failed());
  EXPECT_FALSE(other.send->failed());
  expect_works(other);
  EXPECT_EQ(warnings(), 1U);
}

TEST(ErrorCompletionTest, FailedReceiveInAGroupFailsItsCommunicatorOnly) {
  LogCapture::current().expect_warning("an operation on fake0");
  DevicePair pair;
  const CommPair comms = pair.connect();
  const CommPair other = pair.connect();
  pair.fake.faults().on_post(bit(Verb::kTaggedReceive), Selector::nth(3), PostFault::fail(FI_EIO));
  std::array<std::array<std::byte, 8>, kMaxGroup> in{};
  std::array<Buffer, kMaxGroup> buffers;
  for (std::size_t i = 0; i < kMaxGroup; ++i) buffers[i] = {in[i], static_cast<int>(i)};
  Request* const received = test::receive(*comms.receive, buffers);
  EXPECT_TRUE(becomes_failed(received));
  EXPECT_FALSE(comms.send->failed());
  expect_works(other);
}

TEST(ErrorCompletionTest, PostThatTheProviderRejectsFailsItsCommunicatorOnly) {
  LogCapture::current().expect_warning("a send failed on fake0");
  LogCapture::current().expect_warning("a receive failed on fake0");
  for (const std::size_t nth : {1, 5}) {
    DevicePair pair;
    const CommPair sender = pair.connect();
    const CommPair receiver = pair.connect();
    const CommPair other = pair.connect();
    pair.fake.faults().on_post(bit(Verb::kTaggedSend), Selector::nth(1), PostFault::reject(FI_ENOMEM));
    pair.fake.faults().on_post(bit(Verb::kTaggedReceive), Selector::nth(nth), PostFault::reject(FI_ENOMEM));
    const std::array<std::byte, 8> out{};
    std::array<std::array<std::byte, 8>, 5> in{};
    Request* request = nullptr;
    EXPECT_EQ(test::try_send(*sender.send, out, 0, request), PostStatus::kFailed);
    EXPECT_EQ(sender.send->error().code, Code::kSystem);
    EXPECT_EQ(sender.send->error().number, FI_ENOMEM);
    std::array<Buffer, 5> buffers;
    for (std::size_t i = 0; i < buffers.size(); ++i) buffers[i] = {in[i], static_cast<int>(i)};
    EXPECT_EQ(test::try_receive(*receiver.receive, std::span(buffers).first(nth), request), PostStatus::kFailed);
    EXPECT_EQ(request, nullptr);
    expect_works(other);
  }
}

TEST(ErrorCompletionTest, CancellationThatNobodyAskedForEndsTheRequest) {
  // Providers flush with FI_ECANCELED what was under way on a connection that broke.
  LogCapture::current().expect_warning("");
  for (const Verb verb : {Verb::kTaggedSend, Verb::kTaggedReceive}) {
    DevicePair pair;
    const CommPair comms = pair.connect();
    pair.fake.faults().on_post(bit(verb), Selector::nth(1), PostFault::fail(FI_ECANCELED));
    std::array<std::byte, 8> bytes{};
    Request* const request = verb == Verb::kTaggedSend ? test::send(*comms.send, bytes)
                                                       : test::receive(*comms.receive, std::array{Buffer{bytes}});
    ASSERT_NE(request, nullptr);
    EXPECT_EQ(test::finish(request, nullptr, 300ms), TestStatus::kFailed) << "it waits for ever";
  }
}

TEST(ErrorCompletionTest, ErrorWithoutAnOwnerOnlyWarns) {
  LogCapture::current().expect_warning("reported an error without saying whose");
  DevicePair pair;
  const CommPair comms = pair.connect();
  pair.fake.faults().on_post(bit(Verb::kTaggedSend), Selector::from(1, 100), PostFault::fail(FI_EIO, 5, true));
  const std::array<std::byte, 8> bytes{};
  for (int i = 0; i < 100; ++i) ASSERT_NE(test::send(*comms.send, bytes, 0), nullptr);
  for (int i = 0; i < 20; ++i) test::progress(*pair.near);
  EXPECT_FALSE(comms.send->failed());
  EXPECT_EQ(warnings(), 7U) << "the 1st, 2nd, 4th, ... 64th";
  expect_works(pair.connect());
}

/// Three processes: the middle one talks to two others.
class DeadPeerTest : public testing::Test {
 protected:
  DeadPeerTest()
      : here_(test::open_device(fake_, watchful())),
        dying_(test::open_device(fake_, watchful())),
        living_(test::open_device(fake_, watchful())) {
    to_dying_.push_back(test::connect(*here_, *dying_));
    to_dying_.push_back(test::connect(*here_, *dying_));
    from_dying_ = test::connect(*dying_, *here_);
    to_living_ = test::connect(*here_, *living_);
    from_living_ = test::connect(*living_, *here_);
  }
  static constexpr std::size_t kDying = 2;

  test::FakeFabric fake_;
  std::array<std::byte, 8> in_{};
  std::unique_ptr<Device> here_;
  std::unique_ptr<Device> dying_;
  std::unique_ptr<Device> living_;
  std::vector<CommPair> to_dying_;
  CommPair from_dying_;
  CommPair to_living_;
  CommPair from_living_;
};

TEST_F(DeadPeerTest, RefusingPeerFailsAllItsCommunicatorsOnceAndNobodyElses) {
  LogCapture::current().expect_warning("cannot be reached");
  Request* const waiting = test::receive(*from_dying_.receive, std::array{Buffer{in_}});
  fake_.kill(kDying, test::Death::kRefusing);
  EXPECT_TRUE(becomes_failed(*to_dying_[0].send));
  EXPECT_TRUE(to_dying_[1].send->failed());
  EXPECT_TRUE(from_dying_.receive->failed());
  EXPECT_TRUE(becomes_failed(waiting));
  for (const Comm* comm : {static_cast<Comm*>(to_dying_[0].send.get()), static_cast<Comm*>(to_dying_[1].send.get()),
                           static_cast<Comm*>(from_dying_.receive.get())}) {
    EXPECT_EQ(comm->error().code, Code::kRemote);
    EXPECT_NE(comm->error().what.find("host "), std::string::npos) << comm->error().what;
  }
  EXPECT_EQ(warnings(), 1U) << "said once for the peer, not once for each communicator";
  expect_works(to_living_);
  expect_works(from_living_);
}

TEST_F(DeadPeerTest, ReceiverWhoOnlyWaitsFindsOut) {
  LogCapture::current().expect_warning("cannot be reached");
  Request* const waiting = test::receive(*from_dying_.receive, std::array{Buffer{in_}});
  fake_.kill(kDying, test::Death::kRefusing);
  EXPECT_TRUE(becomes_failed(waiting));
  EXPECT_TRUE(to_dying_[0].send->failed());
  expect_works(to_living_);
}

TEST_F(DeadPeerTest, CommunicatorsToAPeerThatHasFailedCanBeClosedAndTheAddressUsedAgain) {
  LogCapture::current().expect_warning("cannot be reached");
  fake_.kill(kDying, test::Death::kRefusing);
  EXPECT_TRUE(becomes_failed(*to_dying_[0].send));
  to_dying_.clear();
  from_dying_ = {};
  const SpinGuard guard(here_->lock());
  EXPECT_EQ(here_->peers().size(), 1U) << "only the living one";
}

TEST_F(DeadPeerTest, SilentPeerHoldsUpNobodyElseAndClosingDoesNotWait) {
  const std::vector<std::byte> large(100'000);
  Request* const waiting = test::receive(*from_dying_.receive, std::array{Buffer{in_}});
  Request* const sent = test::send(*to_dying_[0].send, large);
  fake_.kill(kDying, test::Death::kSilent);
  EXPECT_EQ(test::finish(std::array{waiting, sent}, 50ms), TestStatus::kPending);
  expect_works(to_living_);
  expect_works(from_living_);
  const auto start = Clock::now();
  to_dying_.clear();
  from_dying_.receive.reset();
  EXPECT_LT(Clock::now() - start, 10s);
  expect_works(to_living_);
  here_->lock().lock();
  EXPECT_EQ(here_->closing_count(), 1U) << "the large send cannot be cancelled and its buffer is still in use";
  here_->lock().unlock();
  to_living_ = {};
  from_living_ = {};
  here_.reset();  // before `large` goes
}

TEST(ClosedPeerTest, PeerThatClosesWhileThisSideWaitsIsNamed) {
  LogCapture::current().expect_warning("closed its end of a connection");
  DevicePair pair({}, watchful());
  CommPair comms = pair.connect();
  std::array<std::byte, 8> in{};
  Request* const waiting = test::receive(*comms.receive, std::array{Buffer{in}});
  comms.send.reset();
  EXPECT_TRUE(becomes_failed(waiting));
  EXPECT_EQ(comms.receive->error().code, Code::kRemote);
}

TEST(ClosedPeerTest, WhatWasSentBeforeTheCloseStillArrivesWhenTheNoticeOvertakesIt) {
  auto options = watchful();
  options.peer_check = 100ms;
  DevicePair pair({}, options);
  CommPair comms = pair.connect();
  std::array<std::byte, 8> out{};
  std::array<std::byte, 8> in{};
  test::fill(out, 2);
  Request* const waiting = test::receive(*comms.receive, std::array{Buffer{in}});
  // It has waited for longer than the grace period when the peer sends its last message and closes.
  EXPECT_EQ(test::finish(waiting, nullptr, 150ms), TestStatus::kPending);
  pair.fake.faults().hold = [](const test::PostEvent& event) { return event.verb == Verb::kTaggedSend; };
  ASSERT_NE(test::send(*comms.send, out), nullptr);
  comms.send.reset();
  EXPECT_EQ(test::finish(waiting, nullptr, 30ms), TestStatus::kPending) << comms.receive->error().what;
  pair.fake.faults().hold = nullptr;
  EXPECT_EQ(test::finish(waiting, nullptr), TestStatus::kDone);
  EXPECT_EQ(in, out);
}

TEST(ClosedPeerTest, SenderLearnsThatItsReceiverIsGoneWhenTheNoticeIsFirstRefusedForNow) {
  LogCapture::current().expect_warning("closed its end of a connection");
  DevicePair pair({}, watchful());
  CommPair comms = pair.connect();
  std::array<std::byte, 8> in{};
  Request* const waiting = test::receive(*comms.receive, std::array{Buffer{in}});
  pair.fake.faults().on_post(bit(Verb::kSend), Selector::nth(1), PostFault::again(),
                             [](const auto& event) { return event.from == test::kNearEndpoint; });
  comms.send.reset();
  // Other traffic of that process goes on.
  EXPECT_TRUE(test::poll_until([&] {
    test::progress(*pair.near);
    return sendrecv::test(*waiting, nullptr) == TestStatus::kFailed;
  })) << "the peer is never told that the connection is closed";
}

}  // namespace
}  // namespace weft::sendrecv
