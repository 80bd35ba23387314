// Order over providers that keep none, sequence numbers that wrap, and the window between the two ends.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "tests/support/comm_pair.h"
#include "tests/support/traffic.h"

namespace weft::sendrecv {
namespace {

using test::bit;
using test::Buffer;
using test::CommPair;
using test::Delivery;
using test::DevicePair;
using test::PostFault;
using test::Selector;
using test::Traffic;
using test::TrafficPlan;
using test::Verb;

struct Reordering {
  std::size_t window;
  std::uint64_t seed;
};

class ReorderingTest : public testing::TestWithParam<Reordering> {
 protected:
  void reorder(DevicePair& pair) {
    auto& faults = pair.fake.faults();
    faults.delivery = Delivery::kOnRead;
    faults.delay_reads = 1 + static_cast<unsigned>(GetParam().window / 4);
    faults.reorder_window = GetParam().window;
    faults.seed(GetParam().seed);
  }
};

INSTANTIATE_TEST_SUITE_P(Windows, ReorderingTest,
                         testing::Values(Reordering{1, 101}, Reordering{16, 102}, Reordering{64, 103},
                                         Reordering{1024, 104}),
                         [](const auto& info) {
                           return "Window" + std::to_string(info.param.window) + "Seed" +
                                  std::to_string(info.param.seed);
                         });

TEST_P(ReorderingTest, OneTagKeepsItsOrderThroughThreeWrapsOfItsSequence) {
  DevicePair pair;
  const CommPair comms = pair.connect();
  reorder(pair);
  std::vector<Traffic> traffic;
  traffic.emplace_back(comms, TrafficPlan{.groups = 3 * kSequenceSpace / 4, .max_group = 8, .tags = 1, .max_bytes = 64},
                       GetParam().seed);
  EXPECT_EQ(test::run(traffic), "");
  EXPECT_GT(traffic.front().messages(), 3 * kSequenceSpace);
}

TEST_P(ReorderingTest, MixedTagsKeepTheirOrderThroughWraps) {
  DevicePair pair;
  const CommPair comms = pair.connect();
  reorder(pair);
  std::vector<Traffic> traffic;
  traffic.emplace_back(comms, TrafficPlan{.groups = 3 * kSequenceSpace / 4, .tags = 3, .max_bytes = 64},
                       GetParam().seed);
  EXPECT_EQ(test::run(traffic), "");
  EXPECT_GT(traffic.front().messages(), 3 * kSequenceSpace);
}

TEST_P(ReorderingTest, SingleReceivesKeepTheirOrder) {
  DevicePair pair;
  const CommPair comms = pair.connect();
  reorder(pair);
  std::vector<Traffic> traffic;
  traffic.emplace_back(comms, TrafficPlan{.groups = kSequenceSpace + 100, .max_group = 1, .tags = 1, .max_bytes = 32},
                       GetParam().seed);
  EXPECT_EQ(test::run(traffic), "");
}

class WindowTest : public testing::Test {
 protected:
  WindowTest() : pair_(wide()), comms_(pair_.connect()) {}

  static test::FakeOptions wide() {
    test::FakeOptions options;
    options.flights = 4 * kSendWindow;
    options.nics.front().tx_size = 4 * kSendWindow;
    return options;
  }
  /// Sends without anybody receiving until the answer is "again", also after all reports have been read; returns how
  /// many went.
  std::size_t send_until_stopped() {
    std::size_t sent = 0;
    for (int refused = 0; sent < 2 * kSendWindow && refused < 5;) {
      Request* request = nullptr;
      if (test::try_send(*comms_.send, out_, 0, request) != PostStatus::kPosted) {
        ++refused;
        continue;
      }
      refused = 0;
      if (test::finish(request, nullptr) != TestStatus::kDone) return sent;
      ++sent;
    }
    return sent;
  }
  std::size_t receive_all(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      Request* const request = test::receive(*comms_.receive, std::array{Buffer{in_}});
      if (request == nullptr || test::finish(request, nullptr, std::chrono::seconds(2)) != TestStatus::kDone) return i;
    }
    return count;
  }

  DevicePair pair_;
  CommPair comms_;
  std::array<std::byte, 24> out_{};
  std::array<std::byte, 24> in_{};
};

TEST_F(WindowTest, SenderStopsAtItsWindowAndGoesOnWhenTheReceiverHasCaughtUp) {
  ASSERT_EQ(send_until_stopped(), kSendWindow);
  ASSERT_EQ(send_until_stopped(), 0U);
  // Not before the receiver reports, which it does after each kCreditEvery messages.
  ASSERT_EQ(receive_all(kCreditEvery - 1), kCreditEvery - 1);
  EXPECT_EQ(send_until_stopped(), 0U);
  ASSERT_EQ(receive_all(kSendWindow - kCreditEvery + 1), kSendWindow - kCreditEvery + 1);
  EXPECT_EQ(send_until_stopped(), kSendWindow);
  EXPECT_EQ(receive_all(kSendWindow), kSendWindow);
}

TEST_F(WindowTest, SenderThatIsStoppedStartsAgainThroughManyWindows) {
  for (int round = 0; round < 12; ++round) {
    const std::size_t sent = send_until_stopped();
    ASSERT_GE(sent, kSendWindow - kCreditEvery) << "round " << round;
    ASSERT_EQ(receive_all(sent), sent) << "round " << round;
  }
}

TEST_F(WindowTest, ReportThatIsRefusedForNowIsSentLater) {
  pair_.fake.faults().on_post(bit(Verb::kSend), Selector::from(1, 300), PostFault::again(),
                              [](const auto& event) { return event.from == test::kFarEndpoint; });
  ASSERT_EQ(send_until_stopped(), kSendWindow);
  ASSERT_EQ(receive_all(kSendWindow), kSendWindow);
  EXPECT_EQ(pair_.fake.faults().fired(), 300U);
  EXPECT_GT(send_until_stopped(), kSendWindow - kCreditEvery);
}

TEST_F(WindowTest, ReportsThatOvertakeEachOtherDoNotStopTheSender) {
  auto& faults = pair_.fake.faults();
  faults.delivery = Delivery::kOnRead;
  faults.delay_reads = 40;
  faults.reorder_window = 64;
  faults.seed(77);
  std::vector<Traffic> traffic;
  traffic.emplace_back(comms_, TrafficPlan{.groups = 3000, .tags = 2, .max_bytes = 16}, 77);
  EXPECT_EQ(test::run(traffic), "");
}

TEST_F(WindowTest, CountOfMessagesMayWrapAroundItself) {
  // Forged reports may not move the window backwards: an old one is ignored, and no message is lost.
  ASSERT_EQ(send_until_stopped(), kSendWindow);
  ASSERT_EQ(receive_all(kSendWindow), kSendWindow);
  test::progress(*pair_.near);
  test::Stranger stranger(pair_.fake);
  Notice old{};
  old.kind = NoticeKind::kConsumed;
  old.header = make_header(ControlType::kNotice, TransportId::kSendRecv, sizeof old, comms_.send->key());
  for (const std::uint32_t count : {0U, 1U, kCreditEvery}) {
    old.count = count;
    stranger.send_control(*pair_.near, old);
  }
  EXPECT_EQ(send_until_stopped(), kSendWindow);
  EXPECT_EQ(receive_all(kSendWindow), kSendWindow);
}

TEST(DetachedWindowTest, DetachedReceivesAreReportedToo) {
  DevicePair pair({}, test::patient_options(), true);
  const CommPair comms = pair.connect();
  std::array<std::byte, 24> out{};
  std::array<std::byte, 24> in{};
  for (std::size_t i = 0; i < 3 * kSendWindow; ++i) {
    Request* const received = test::receive(*comms.receive, std::array{Buffer{in}}, true);
    ASSERT_NE(received, nullptr) << i;
    ASSERT_EQ(test::finish(received, nullptr), TestStatus::kDone);
    Request* const sent = test::send(*comms.send, out, 0, [&] { pair.progress(); });
    ASSERT_NE(sent, nullptr) << "stopped for good after " << i;
    ASSERT_EQ(test::finish(sent, nullptr), TestStatus::kDone);
  }
}

class AgainTest : public testing::TestWithParam<std::uint64_t> {};

INSTANTIATE_TEST_SUITE_P(Every, AgainTest, testing::Values(2, 3, 5, 7, 8, 9), testing::PrintToStringParamName());

TEST_P(AgainTest, NothingIsLostWhenEachSoManiethPostIsRefusedForNow) {
  for (const test::Verbs verbs : {test::kAnyVerb, bit(Verb::kTaggedReceive), bit(Verb::kTaggedSend)}) {
    DevicePair pair({}, test::patient_options(), true);
    const CommPair comms = pair.connect();
    pair.fake.faults().on_post(verbs, Selector::every(GetParam()), PostFault::again());
    std::vector<Traffic> traffic;
    traffic.emplace_back(comms, TrafficPlan{.groups = 400}, GetParam());
    EXPECT_EQ(test::run(traffic), "") << "verbs " << verbs;
  }
}

TEST_P(AgainTest, NothingIsLostWhenTheProviderHasRoomForFewPosts) {
  test::FakeOptions options;
  options.nics.front().rx_size = ControlChannel::kReceives + GetParam();
  options.nics.front().tx_size = GetParam();
  DevicePair pair(options, test::patient_options(), true);
  const CommPair one = pair.connect();
  const CommPair two = pair.connect();
  // Messages that the provider may buffer: with longer ones, two that wait for receives which do not fit either would
  // fill such a provider for ever.
  const TrafficPlan plan = {.groups = 150, .max_bytes = options.eager_bytes};
  std::vector<Traffic> traffic;
  traffic.emplace_back(one, plan, GetParam());
  traffic.emplace_back(two, plan, GetParam() + 100);
  EXPECT_EQ(test::run(traffic), "");
}

TEST(GroupedReceiveTest, PostRefusedInTheMiddleOfAGroupKeepsTheOrder) {
  for (std::uint64_t n = 1; n <= kMaxGroup; ++n) {
    SCOPED_TRACE("buffer " + std::to_string(n) + " of a group is refused for a while");
    DevicePair pair;
    const CommPair comms = pair.connect();
    pair.fake.faults().on_post(bit(Verb::kTaggedReceive), Selector::from(n, 5), PostFault::again());
    std::array<std::array<std::byte, 32>, 2 * kMaxGroup> out{};
    std::array<std::array<std::byte, 32>, 2 * kMaxGroup> in{};
    std::vector<Request*> requests;
    for (std::size_t group = 0; group < 2; ++group) {
      std::array<Buffer, kMaxGroup> buffers;
      for (std::size_t i = 0; i < kMaxGroup; ++i) buffers[i] = {in[group * kMaxGroup + i], 3};
      Request* request = nullptr;
      ASSERT_TRUE(
          test::poll_until([&] { return test::try_receive(*comms.receive, buffers, request) == PostStatus::kPosted; }));
      requests.push_back(request);
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      test::fill(out[i], i);
      requests.push_back(test::send(*comms.send, out[i], 3));
    }
    ASSERT_EQ(test::finish(requests), TestStatus::kDone);
    for (std::size_t i = 0; i < in.size(); ++i) ASSERT_EQ(test::wrong_bytes(in[i], i), 0U) << i;
  }
}

}  // namespace
}  // namespace weft::sendrecv
