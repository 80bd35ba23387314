// A request that does not move is named in one line, and only then.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "tests/support/comm_pair.h"
#include "tests/support/log_capture.h"

namespace weft::sendrecv {
namespace {

using namespace std::chrono_literals;
using test::Buffer;
using test::CommPair;
using test::DevicePair;
using test::LogCapture;

std::size_t stall_lines() {
  std::size_t count = 0;
  for (const auto& line : LogCapture::current().lines()) count += line.text.find("have not moved") != std::string::npos;
  return count;
}

DeviceOptions stalling_after(std::chrono::milliseconds limit) {
  auto options = test::patient_options();
  options.stall_warning = limit;
  return options;
}

TEST(StallTest, RequestThatDoesNotMoveIsNamedOnceWithItsPeer) {
  LogCapture::current().expect_warning("1 operations with peer host");
  DevicePair pair({}, stalling_after(40ms));
  const CommPair comms = pair.connect();
  std::array<std::byte, 8> in{};
  Request* const waiting = test::receive(*comms.receive, std::array{Buffer{in}});
  EXPECT_EQ(test::finish(waiting, nullptr, 20ms), TestStatus::kPending);
  EXPECT_EQ(stall_lines(), 0U) << "not before its time";
  EXPECT_EQ(test::finish(waiting, nullptr, 200ms), TestStatus::kPending);
  EXPECT_EQ(stall_lines(), 1U);
  EXPECT_FALSE(comms.receive->failed());
}

TEST(StallTest, NextStallIsNamedAgain) {
  LogCapture::current().expect_warning("have not moved");
  DevicePair pair({}, stalling_after(30ms));
  const CommPair comms = pair.connect();
  std::array<std::byte, 8> bytes{};
  for (std::size_t round = 1; round <= 2; ++round) {
    Request* const waiting = test::receive(*comms.receive, std::array{Buffer{bytes}});
    EXPECT_EQ(test::finish(waiting, nullptr, 100ms), TestStatus::kPending);
    EXPECT_EQ(stall_lines(), round);
    Request* const sent = test::send(*comms.send, bytes);
    ASSERT_EQ(test::finish(std::array{sent, waiting}), TestStatus::kDone);
  }
}

TEST(StallTest, ZeroMeansNever) {
  DevicePair pair({}, stalling_after(0ms));
  const CommPair comms = pair.connect();
  std::array<std::byte, 8> in{};
  EXPECT_EQ(test::finish(test::receive(*comms.receive, std::array{Buffer{in}}), nullptr, 100ms), TestStatus::kPending);
}

TEST(StallTest, FirstPostsThatAreRefusedForNowAreNoStallYet) {
  DevicePair pair({}, stalling_after(10s));
  const CommPair comms = pair.connect();
  pair.fake.faults().on_post(test::kSends | test::kReceives, test::Selector::always(), test::PostFault::again());
  std::array<std::byte, 8> bytes{};
  for (int i = 0; i < 3000; ++i) {
    Request* request = nullptr;
    ASSERT_EQ(test::try_send(*comms.send, bytes, 0, request), PostStatus::kAgain);
    ASSERT_EQ(test::try_receive(*comms.receive, std::array{Buffer{bytes}}, request), PostStatus::kAgain);
  }
  EXPECT_EQ(stall_lines(), 0U) << "they have waited for milliseconds";
}

TEST(StallTest, TimeInWhichNobodyWaitedDoesNotCount) {
  DevicePair pair({}, stalling_after(150ms));
  const CommPair comms = pair.connect();
  std::array<std::byte, 8> bytes{};
  // Move, then be looked at once more with nothing in flight: the sender's ring is full of what is done already.
  std::vector<Request*> requests;
  for (std::size_t i = 0; i < kSendRequests; ++i) requests.push_back(test::send(*comms.send, bytes));
  Request* request = nullptr;
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(test::try_send(*comms.send, bytes, 0, request), PostStatus::kAgain);
  ASSERT_EQ(test::finish(requests), TestStatus::kDone);
  // Long idle, then busy again, and refused for now at first.
  test::poll_until([] { return false; }, 200ms);
  pair.fake.faults().on_post(test::kSends, test::Selector::always(), test::PostFault::again());
  for (int i = 0; i < 3000; ++i) ASSERT_EQ(test::try_send(*comms.send, bytes, 0, request), PostStatus::kAgain);
  EXPECT_EQ(stall_lines(), 0U) << "nobody has waited for 150 ms";
}

TEST(StallTest, IdleConnectionWhosePeerClosesSaysNothing) {
  auto options = stalling_after(10ms);
  options.peer_check = 5ms;
  DevicePair pair({}, options);
  CommPair comms = pair.connect();
  comms.send.reset();
  const auto until = Clock::now() + 50ms;
  while (Clock::now() < until) test::progress(*pair.far);
  EXPECT_FALSE(comms.receive->failed());
}

}  // namespace
}  // namespace weft::sendrecv
