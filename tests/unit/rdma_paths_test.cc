// Paths that fail, come back and fail again, or whose operations are refused: every message comes to an end, the log
// stays short, and a peer that lives is not lost for what passes. PROTOCOL.md, "Rails that fail".
#include <gtest/gtest.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <array>
#include <memory>
#include <thread>

#include "tests/support/give_up.h"
#include "tests/support/log_capture.h"
#include "tests/support/rdma_pair.h"

namespace weft::rdma {
namespace {

using test::PostEvent;
using test::PostFault;
using test::RdmaPair;
using test::Selector;
using test::Verb;

constexpr int kUnresponsive = 13;  ///< EFA's status for a peer that does not answer; its error is FI_ECONNABORTED
constexpr std::size_t kShort = 100;
constexpr std::size_t kLong = 700'000;
constexpr std::uint64_t kEvery = test::bit(Verb::kWrite) | test::bit(Verb::kWriteData) | test::bit(Verb::kRead);

std::size_t warnings(const char* what) {
  return static_cast<std::size_t>(std::ranges::count_if(test::LogCapture::current().lines(), [what](const auto& line) {
    return line.level == log::Level::kWarn && line.text.find(what) != std::string::npos;
  }));
}

/// One of the times that are left.
bool take_one(int& left) {
  if (left == 0) return false;
  --left;
  return true;
}

class PathsTest : public testing::Test {
 protected:
  explicit PathsTest(std::size_t rails = 2, const DeviceOptions& options = test::patient_options())
      : pair_(rails, options) {}
  /// Which lines there are, each test checks as far as it matters.
  ~PathsTest() override {
    for (const char* text : {"Going on over", "works again", "cannot be reached", "an operation on"}) {
      if (warnings(text) > 0) test::LogCapture::current().expect_warning(text);
    }
  }

  bool is_senders(const PostEvent& event) const { return event.from <= pair_.rails(); }
  TestStatus exchange(std::size_t bytes = kShort) {
    Request* const received = pair_.receive(pair_.in(0, bytes));
    test::progress_rdma(*pair_.far);
    Request* const sent = pair_.send(pair_.out(0, bytes));
    return received == nullptr || sent == nullptr ? TestStatus::kFailed : test::finish(std::array{sent, received});
  }

  RdmaPair pair_;
};

TEST_F(PathsTest, AMessageThatFailsOnEveryPathEndsThoughTheErrorBlamesThePeer) {
  pair_.fake.faults().on_post(test::bit(Verb::kWriteData), Selector::always(),
                              PostFault::fail(FI_ECONNABORTED, kUnresponsive),
                              [this](const PostEvent& event) { return is_senders(event) && event.size > 0; });
  EXPECT_EQ(exchange(), TestStatus::kFailed);
  EXPECT_EQ(warnings("cannot be reached"), 0U) << "probes and questions do reach it";
  EXPECT_LE(warnings("Going on over"), 2U * 7) << "a line for every doubling";
}

TEST_F(PathsTest, APermissionThatFailsOnEveryPathEndsThoughTheErrorBlamesThePeer) {
  pair_.fake.faults().on_post(
      test::bit(Verb::kWrite), Selector::always(), PostFault::fail(FI_ECONNABORTED, kUnresponsive),
      [this](const PostEvent& event) { return !is_senders(event) && event.size >= sizeof(ClearToSend); });
  Request* const received = pair_.receive(pair_.in(0, kShort));
  ASSERT_NE(received, nullptr);
  EXPECT_EQ(test::finish(std::array{received}), TestStatus::kFailed);
  EXPECT_EQ(warnings("cannot be reached"), 0U);
}

TEST_F(PathsTest, AMessageThatIsRefusedForeverEnds) {
  pair_.fake.faults().on_post(test::bit(Verb::kWriteData), Selector::always(), PostFault::reject(FI_EINVAL),
                              [this](const PostEvent& event) { return is_senders(event) && event.size > 0; });
  EXPECT_EQ(exchange(), TestStatus::kFailed);
}

class FourPathsTest : public PathsTest {
 protected:
  FourPathsTest() : PathsTest(4) {}
};

TEST_F(FourPathsTest, RefusalsThatPassLoseNobody) {
  const auto left = std::make_shared<int>(4);  // the fake keeps its rules to its end
  pair_.fake.faults().on_post(test::bit(Verb::kWrite), Selector::always(), PostFault::reject(FI_ENOMEM),
                              [this, left](const PostEvent& event) {
                                return !is_senders(event) && event.size >= sizeof(ClearToSend) && take_one(*left);
                              });
  Request* const received = pair_.receive(pair_.in(0, kShort));
  Request* sent = nullptr;
  ASSERT_NE(received, nullptr);
  EXPECT_TRUE(test::poll_until([&] {
    EXPECT_NE(rdma::test(*received, nullptr), TestStatus::kFailed);
    if (sent == nullptr) sent = pair_.try_send(pair_.out(0, kShort));
    return sent != nullptr || pair_.receiver->failed();
  }));
  ASSERT_FALSE(pair_.receiver->failed());
  EXPECT_EQ(test::finish(std::array{sent, received}), TestStatus::kDone);
  EXPECT_EQ(*left, 0);
}

TEST_F(PathsTest, AChanceOfLongAgoDoesNotLosePeers) {
  const auto probes_fail = std::make_shared<bool>(false);
  const auto writes_fail = std::make_shared<int>(0);
  pair_.fake.faults().on_post(kEvery, Selector::always(), PostFault::fail(FI_ECONNABORTED, kUnresponsive),
                              [=](const PostEvent& event) {
                                if (event.from != 1) return event.from == 2;  // which is out for good
                                if (event.verb == Verb::kWrite && *probes_fail) return true;
                                return event.verb == Verb::kWriteData && take_one(*writes_fail);
                              });
  while (warnings("Going on over 1 of 2") == 0) ASSERT_EQ(exchange(), TestStatus::kDone);
  // A hiccup, after which nobody waits for long.
  *writes_fail = 1;
  *probes_fail = true;
  ASSERT_EQ(exchange(), TestStatus::kDone);
  *probes_fail = false;
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  *writes_fail = 1;
  EXPECT_EQ(exchange(), TestStatus::kDone);
  EXPECT_EQ(warnings("cannot be reached"), 0U);
}

TEST_F(PathsTest, AMessageGoesAroundAPathThatOnlyProbesCross) {
  pair_.fake.faults().on_post(test::bit(Verb::kWriteData), Selector::always(), PostFault::fail(FI_EIO, kUnresponsive),
                              [](const PostEvent& event) { return event.from == 2 && event.size > 1000; });
  EXPECT_EQ(exchange(kLong), TestStatus::kDone);
}

class EightPathsTest : public PathsTest {
 protected:
  EightPathsTest() : PathsTest(8) {}
};

TEST_F(EightPathsTest, StripesThatFailTogetherAreOneTry) {
  pair_.fake.faults().on_post(test::bit(Verb::kWriteData), Selector::always(), PostFault::fail(FI_EIO, kUnresponsive),
                              [this](const PostEvent& event) { return is_senders(event) && event.size > 0; });
  Request* const received = pair_.receive(pair_.in(0, kLong));
  test::progress_rdma(*pair_.far);
  Request* const sent = pair_.send(pair_.out(0, kLong));
  ASSERT_TRUE(received != nullptr && sent != nullptr);
  EXPECT_EQ(test::finish(std::array{sent, received}), TestStatus::kFailed);
  EXPECT_GE(pair_.posts(Verb::kRead), std::size_t{kMostAttempts} - 1) << "it has looked after every try";
}

class AlivePathsTest : public PathsTest {
 protected:
  AlivePathsTest() : PathsTest(2, options()) {}
  static DeviceOptions options() {
    auto options = test::patient_options();
    options.peer_check = std::chrono::milliseconds(30);
    return options;
  }
};

TEST_F(AlivePathsTest, ALivingConnectionKeepsItsAddressWhenALaterOneToTheSamePeerGoes) {
  ASSERT_EQ(exchange(), TestStatus::kDone);
  // One control message is lost, and the peer passes for failed; its rails do not.
  pair_.fake.faults().on_post(test::bit(Verb::kSend), Selector::from(1, 1),
                              PostFault::fail(FI_ECONNABORTED, kUnresponsive));
  ASSERT_TRUE(test::poll_until([&] {
    pair_.try_send(pair_.out(0, kShort * 40));
    return warnings("works again") > 0;
  }));
  ASSERT_EQ(exchange(), TestStatus::kDone);
  // A new connection to it does not come about: nobody listens.
  test::Handle handle{};
  {
    const auto listener = test::value_or_give_up(rdma::listen(*pair_.far, handle));
  }
  ASSERT_TRUE(test::poll_until([&] {
    test::progress_rdma(*pair_.far);
    return !rdma::connect(*pair_.near, handle).has_value();
  }));
  test::LogCapture::current().expect_warning("connecting failed");
  test::LogCapture::current().expect_warning("the listener is closed or never existed");
  for (int i = 0; i < 10; ++i) ASSERT_EQ(exchange(), TestStatus::kDone) << i;
  EXPECT_EQ(warnings("Going on over"), 0U) << "path 0 was taken out for the control message, without a line";
}

}  // namespace
}  // namespace weft::rdma
