// Closing with everything in flight: nobody waits, and nothing is freed that the provider still holds. The fake
// complains about buffers and contexts that change too early; under a sanitizer so does the memory itself.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "tests/support/comm_pair.h"
#include "tests/support/log_capture.h"

namespace weft::sendrecv {
namespace {

using namespace std::chrono_literals;
using test::Buffer;
using test::CommPair;
using test::DevicePair;

std::size_t closing(Device& device) {
  const SpinGuard guard(device.lock());
  return device.closing_count();
}
std::size_t registered(Device& device) {
  const SpinGuard guard(device.lock());
  return device.registry().size();
}

/// Makes the device look whether something has become idle, as the next set-up or close would.
void sweep(Device& device) {
  const SpinGuard guard(device.lock());
  device.sweep();
}

TEST(CloseTest, ReceivesInFlightAreCancelledAtOnce) {
  DevicePair pair;
  CommPair comms = pair.connect();
  std::vector<std::array<std::byte, 64>> in(kRecvRequests * kMaxGroup);
  for (std::size_t group = 0; group < kRecvRequests; ++group) {
    std::array<Buffer, kMaxGroup> buffers;
    for (std::size_t i = 0; i < kMaxGroup; ++i) buffers[i] = {in[group * kMaxGroup + i], 0};
    ASSERT_NE(test::receive(*comms.receive, buffers), nullptr);
  }
  EXPECT_EQ(pair.fake.posted_receives(test::kFarEndpoint), kRecvRequests * kMaxGroup + ControlChannel::kReceives);
  const auto start = Clock::now();
  comms.receive.reset();
  EXPECT_LT(Clock::now() - start, 10s);
  EXPECT_EQ(pair.fake.posted_receives(test::kFarEndpoint), ControlChannel::kReceives);
  EXPECT_EQ(closing(*pair.far), 0U);
  EXPECT_EQ(registered(*pair.far), 0U);
}

TEST(CloseTest, SendsThatCannotBeCancelledAreKeptUntilTheyEnd) {
  DevicePair pair;
  CommPair comms = pair.connect();
  const std::vector<std::byte> large(50'000);
  std::vector<std::byte> in(50'000);
  for (int i = 0; i < 10; ++i) ASSERT_NE(test::send(*comms.send, large), nullptr);
  const auto start = Clock::now();
  comms.send.reset();
  EXPECT_LT(Clock::now() - start, 10s);
  EXPECT_EQ(closing(*pair.near), 1U);
  EXPECT_EQ(registered(*pair.near), 0U) << "nobody can reach it any more";
  // The receiver takes what was sent before the close.
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(test::finish(test::receive(*comms.receive, std::array{Buffer{in}}), nullptr), TestStatus::kDone) << i;
  }
  test::progress(*pair.near);
  sweep(*pair.near);
  EXPECT_EQ(closing(*pair.near), 0U);
}

TEST(CloseTest, SendsUnderWayOnASlowNetworkAreKeptUntilTheyEnd) {
  DevicePair pair;
  CommPair comms = pair.connect();
  pair.fake.faults().delivery = test::Delivery::kManual;
  std::array<std::byte, 64> out{};
  for (std::size_t i = 0; i < kSendRequests; ++i) ASSERT_NE(test::send(*comms.send, out), nullptr);
  comms.send.reset();
  EXPECT_EQ(closing(*pair.near), 1U);
  pair.fake.run_until_idle();
  for (int i = 0; i < 40; ++i) test::progress(*pair.near);
  sweep(*pair.near);
  EXPECT_EQ(closing(*pair.near), 0U);
}

TEST(CloseTest, ProviderThatCannotCancelKeepsTheReceives) {
  DevicePair pair;
  CommPair comms = pair.connect();
  fid_ep* const ep = pair.far->rail().endpoint().get();
  fi_ops_ep* const able = ep->ops;
  fi_ops_ep unable = *able;
  unable.cancel = [](fid*, void*) -> ssize_t { return -FI_ENOSYS; };
  ep->ops = &unable;
  std::array<std::byte, 64> out{};
  std::array<std::byte, 64> in{};
  test::fill(out, 3);
  ASSERT_NE(test::receive(*comms.receive, std::array{Buffer{in}}), nullptr);
  comms.receive.reset();
  EXPECT_EQ(closing(*pair.far), 1U);
  // What comes now comes into memory that is still there.
  ASSERT_NE(test::send(*comms.send, out), nullptr);
  test::progress(*pair.far);
  sweep(*pair.far);
  EXPECT_EQ(closing(*pair.far), 0U);
  EXPECT_EQ(in, out);
  ep->ops = able;
}

TEST(CloseTest, LateNoticesForAClosedCommunicatorAreHarmless) {
  DevicePair pair;
  CommPair comms = pair.connect();
  pair.fake.faults().delivery = test::Delivery::kManual;
  // Both ends close at the same time: each one's notice arrives after the other has gone.
  comms = {};
  pair.fake.run_until_idle();
  for (int i = 0; i < 4; ++i) pair.progress();
  const SpinGuard guard(pair.far->lock());
  EXPECT_EQ(pair.far->control().counters().refused, 0U);
}

TEST(CloseTest, RequestsOfAClosedNeighbourAreNotDisturbed) {
  DevicePair pair;
  const CommPair stays = pair.connect();
  for (int i = 0; i < 20; ++i) {
    CommPair goes = pair.connect();
    std::array<std::byte, 64> out{};
    std::array<std::byte, 64> in{};
    std::array<std::byte, 64> other{};
    test::fill(out, 5);
    Request* const received = test::receive(*stays.receive, std::array{Buffer{in, 2}});
    ASSERT_NE(test::receive(*goes.receive, std::array{Buffer{other, 2}}), nullptr);
    goes = {};
    Request* const sent = test::send(*stays.send, out, 2);
    ASSERT_EQ(test::finish(std::array{sent, received}), TestStatus::kDone);
    ASSERT_EQ(in, out);
    ASSERT_EQ(test::wrong_bytes(other, 5), test::wrong_bytes(std::array<std::byte, 64>{}, 5)) << "not for this one";
  }
}

TEST(CloseTest, DeviceClosesWithEverythingInFlight) {
  // Buffers first, so that they outlive the devices.
  const std::vector<std::byte> large(50'000);
  std::vector<std::array<std::byte, 64>> small(500);
  DevicePair pair;
  std::vector<CommPair> comms;
  for (int i = 0; i < 4; ++i) comms.push_back(pair.connect());
  pair.fake.faults().delivery = test::Delivery::kManual;
  for (std::size_t i = 0; i < 100; ++i) {
    Request* request = nullptr;
    test::try_send(*comms[i % 4].send, large, 1, request);
    test::try_send(*comms[i % 4].send, small[i], 2, request);
    test::try_receive(*comms[i % 4].receive, std::array{Buffer{small[100 + 2 * i], 3}, Buffer{small[300 + i], 4}},
                      request);
    if (i % 7 == 0) pair.fake.step();
  }
  test::Handle handle{};
  auto listener = test::listen_on(*pair.far, handle);
  ASSERT_EQ(sendrecv::connect(*pair.near, handle).value(), nullptr);
  listener.reset();
  comms.clear();
  EXPECT_EQ(closing(*pair.near), 4U);
  const auto start = Clock::now();
  pair.near.reset();
  pair.far.reset();
  EXPECT_LT(Clock::now() - start, 10s);
  EXPECT_EQ(pair.fake.open_objects(), 0U);
}

TEST(CloseTest, PeerThatHasEndedBeforeUsIsNoReasonForAWarning) {
  // How every job ends: the ranks close their connections and exit, some earlier than others.
  DevicePair pair;
  std::vector<CommPair> comms;
  for (int i = 0; i < 3; ++i) comms.push_back(i == 2 ? test::connect(*pair.far, *pair.near) : pair.connect());
  comms[0].receive.reset();
  comms[1].receive.reset();
  comms[2].send.reset();
  pair.far.reset();
  comms.clear();
  for (int i = 0; i < 4; ++i) test::progress(*pair.near);
  sweep(*pair.near);
  EXPECT_EQ(closing(*pair.near), 0U);
}

TEST(CloseTest, ErrorAfterTheCloseIsNotLogged) {
  DevicePair pair;
  CommPair comms = pair.connect();
  const std::vector<std::byte> large(50'000);
  ASSERT_NE(test::send(*comms.send, large), nullptr);
  comms.send.reset();
  comms.receive.reset();
  // Nobody uses the connection any more, so nobody must act on how it ended.
  pair.far.reset();
  for (int i = 0; i < 4; ++i) test::progress(*pair.near);
  sweep(*pair.near);
  EXPECT_EQ(closing(*pair.near), 0U);
}

}  // namespace
}  // namespace weft::sendrecv
