// Connecting and accepting: who gets in, who does not, and what the others are told.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "tests/support/comm_pair.h"
#include "tests/support/log_capture.h"
#include "transports/connection/connector.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
using test::CommPair;
using test::DevicePair;
using test::Handle;
using test::LogCapture;

/// Polls connect() until it has an answer.
Result<std::unique_ptr<sendrecv::SendComm>> connect_to_end(Device& device, Handle& handle,
                                                           const std::function<void()>& meanwhile) {
  Result<std::unique_ptr<sendrecv::SendComm>> outcome = nullptr;
  EXPECT_TRUE(test::poll_until([&] {
    outcome = sendrecv::connect(device, handle);
    meanwhile();
    return !outcome || *outcome != nullptr;
  })) << "no answer at all";
  return outcome;
}

std::uint64_t refused(Device& device) {
  const SpinGuard guard(device.lock());
  return device.control().counters().refused;
}

/// Copies of the handle as NCCL's bootstrap would make them, before anybody has connected with it.
struct Listening {
  explicit Listening(Device& device) : listener(test::listen_on(device, handle)) {}
  Handle handle{};
  std::unique_ptr<Listener> listener;
};

TEST(ConnectionTest, NeitherEndBlocksAndBothArrive) {
  DevicePair pair;
  Listening to(*pair.far);
  // Nobody has asked for anything yet.
  auto early = sendrecv::accept(*to.listener);
  ASSERT_TRUE(early.has_value());
  EXPECT_EQ(*early, nullptr);
  auto first = sendrecv::connect(*pair.near, to.handle);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(*first, nullptr);
  const CommPair comms = pair.connect();
  EXPECT_FALSE(comms.send->failed());
  EXPECT_FALSE(comms.receive->failed());
}

TEST(ConnectionTest, ADeviceCanConnectToItself) {
  const test::FakeFabric fake;
  const auto device = test::open_device(fake);
  const CommPair comms = test::connect(*device, *device);
  std::array<std::byte, 64> out{};
  std::array<std::byte, 64> in{};
  test::fill(out, 1);
  sendrecv::Request* const sent = test::send(*comms.send, out);
  sendrecv::Request* const received = test::receive(*comms.receive, std::array{test::Buffer{in}});
  ASSERT_EQ(test::finish(std::array{sent, received}), TestStatus::kDone);
  EXPECT_EQ(in, out);
}

TEST(ConnectionTest, BothEndsKnowTheOtherByName) {
  DevicePair pair;
  const CommPair comms = pair.connect();
  const std::string who = "host " + local_host_name().substr(0, 10);
  EXPECT_NE(comms.send->peer().name().find(who), std::string::npos) << comms.send->peer().name();
  EXPECT_NE(comms.receive->peer().name().find(who), std::string::npos) << comms.receive->peer().name();
  EXPECT_NE(comms.receive->peer().name().find("pid " + std::to_string(getpid())), std::string::npos);
}

TEST(ListenerTest, ReplayedHandleIsRefusedCountedAndLoggedOnce) {
  LogCapture::current().expect_warning("the handle has been used already");
  DevicePair pair;
  Listening to(*pair.far);
  Handle copy = to.handle;
  std::unique_ptr<sendrecv::RecvComm> received;
  auto honest = connect_to_end(*pair.near, to.handle, [&] {
    if (!received) received = sendrecv::accept(*to.listener).value();
  });
  ASSERT_TRUE(honest.has_value()) << honest.error().what;
  const auto replay = connect_to_end(*pair.near, copy, [&] { test::progress(*pair.far); });
  ASSERT_FALSE(replay.has_value());
  EXPECT_EQ(replay.error().code, Code::kRemote);
  EXPECT_NE(replay.error().what.find("has been used already"), std::string::npos) << replay.error().what;
  EXPECT_EQ(refused(*pair.far), 1U);
  std::size_t lines = 0;
  for (const auto& line : LogCapture::current().lines()) {
    lines += line.text.find("connection from") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(lines, 1U);
  EXPECT_FALSE((*honest)->failed());
  sendrecv::close(std::move(*honest));
  sendrecv::close(std::move(received));
}

TEST(ListenerTest, SecondRequestBeforeTheFirstIsAcceptedIsRefusedAndTheFirstGetsIn) {
  LogCapture::current().expect_warning("the handle has been used already");
  DevicePair pair;
  Listening to(*pair.far);
  Handle copy = to.handle;
  ASSERT_EQ(sendrecv::connect(*pair.near, to.handle).value(), nullptr);
  test::progress(*pair.far);
  const auto second = connect_to_end(*pair.near, copy, [&] { test::progress(*pair.far); });
  ASSERT_FALSE(second.has_value());
  std::unique_ptr<sendrecv::RecvComm> received;
  auto first = connect_to_end(*pair.near, to.handle, [&] {
    if (!received) received = sendrecv::accept(*to.listener).value();
  });
  ASSERT_TRUE(first.has_value()) << first.error().what;
  sendrecv::close(std::move(*first));
  sendrecv::close(std::move(received));
}

TEST(ListenerTest, AcceptAfterTheOneConnectionSaysListenAgain) {
  DevicePair pair;
  Listening to(*pair.far);
  std::unique_ptr<sendrecv::RecvComm> received;
  auto sent = connect_to_end(*pair.near, to.handle, [&] {
    if (!received) received = sendrecv::accept(*to.listener).value();
  });
  ASSERT_TRUE(sent.has_value());
  const auto again = sendrecv::accept(*to.listener);
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().code, Code::kUsage);
  EXPECT_NE(again.error().what.find("listen again"), std::string::npos);
  sendrecv::close(std::move(*sent));
  sendrecv::close(std::move(received));
}

TEST(ConnectorTest, HandleWhoseConnectionIsMadeIsRefusedBySayingSo) {
  DevicePair pair;
  Listening to(*pair.far);
  std::unique_ptr<sendrecv::RecvComm> received;
  auto sent = connect_to_end(*pair.near, to.handle, [&] {
    if (!received) received = sendrecv::accept(*to.listener).value();
  });
  ASSERT_TRUE(sent.has_value());
  const auto again = sendrecv::connect(*pair.near, to.handle);
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().code, Code::kUsage);
  EXPECT_NE(again.error().what.find("each handle serves one connection"), std::string::npos) << again.error().what;
  EXPECT_FALSE((*sent)->failed());
  sendrecv::close(std::move(*sent));
  sendrecv::close(std::move(received));
}

TEST(ConnectorTest, HandleThatNamesSomebodyElsesAttemptIsRefused) {
  DevicePair pair;
  Listening one(*pair.far);
  Listening other(*pair.far);
  ASSERT_EQ(sendrecv::connect(*pair.near, one.handle).value(), nullptr);
  std::memcpy(other.handle.data() + offsetof(ConnectHandle, connector),
              one.handle.data() + offsetof(ConnectHandle, connector), sizeof(Key));
  const auto stolen = sendrecv::connect(*pair.near, other.handle);
  ASSERT_FALSE(stolen.has_value());
  EXPECT_EQ(stolen.error().code, Code::kUsage);
}

TEST(ConnectorTest, WrongNonceIsRefusedAndTheListenerStaysFree) {
  LogCapture::current().expect_warning("wrong nonce");
  DevicePair pair;
  Listening to(*pair.far);
  Handle forged = to.handle;
  ConnectHandle fields;
  std::memcpy(&fields, forged.data(), sizeof fields);
  ++fields.nonce;
  seal(fields);
  std::memcpy(forged.data(), &fields, sizeof fields);
  const auto guess = connect_to_end(*pair.near, forged, [&] { test::progress(*pair.far); });
  ASSERT_FALSE(guess.has_value());
  EXPECT_NE(guess.error().what.find("wrong nonce"), std::string::npos) << guess.error().what;
  EXPECT_EQ(refused(*pair.far), 1U);
  std::unique_ptr<sendrecv::RecvComm> received;
  auto honest = connect_to_end(*pair.near, to.handle, [&] {
    if (!received) received = sendrecv::accept(*to.listener).value();
  });
  ASSERT_TRUE(honest.has_value()) << honest.error().what;
  sendrecv::close(std::move(*honest));
  sendrecv::close(std::move(received));
}

TEST(ConnectorTest, ListenerThatIsClosedIsNamedSo) {
  LogCapture::current().expect_warning("the listener is closed or never existed");
  DevicePair pair;
  Listening to(*pair.far);
  to.listener.reset();
  const auto late = connect_to_end(*pair.near, to.handle, [&] { test::progress(*pair.far); });
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().code, Code::kRemote);
  EXPECT_NE(late.error().what.find("the listener is closed"), std::string::npos) << late.error().what;
}

TEST(ListenerTest, ListenerClosedWithARequestInsideLeavesNothing) {
  DevicePair pair;
  Listening to(*pair.far);
  ASSERT_EQ(sendrecv::connect(*pair.near, to.handle).value(), nullptr);
  test::progress(*pair.far);
  to.listener.reset();
  const SpinGuard guard(pair.far->lock());
  EXPECT_EQ(pair.far->registry().size(), 0U);
  EXPECT_EQ(pair.far->peers().size(), 0U);
}

TEST(ListenerTest, RequestThatArrivesTwiceStillConnects) {
  DevicePair pair;
  test::Stranger wire(pair.fake);
  Listening to(*pair.far);
  ASSERT_EQ(sendrecv::connect(*pair.near, to.handle).value(), nullptr);
  test::progress(*pair.far);
  // The same request once more, as a provider that retries on its own might deliver it.
  ConnectRequest again = test::make_request(*pair.far, to.handle, pair.near->address());
  ConnectHandle fields;
  std::memcpy(&fields, to.handle.data(), sizeof fields);
  again.connector = fields.connector;
  wire.send_control(*pair.far, again);
  std::unique_ptr<sendrecv::RecvComm> received;
  auto sent = connect_to_end(*pair.near, to.handle, [&] {
    if (!received) received = sendrecv::accept(*to.listener).value();
  });
  ASSERT_TRUE(sent.has_value()) << sent.error().what;
  sendrecv::close(std::move(*sent));
  sendrecv::close(std::move(received));
}

TEST(ConnectorTest, TimeLimitNamesThePeerAndWhatToCheck) {
  LogCapture::current().expect_warning("did not answer a connect request");
  auto options = test::patient_options();
  options.connect_timeout = 30ms;
  DevicePair pair({}, options);
  Listening to(*pair.far);
  const auto nobody = connect_to_end(*pair.near, to.handle, [] {});  // the other end never makes progress
  ASSERT_FALSE(nobody.has_value());
  EXPECT_EQ(nobody.error().code, Code::kTimeout);
  for (const char* part : {"host ", "pid ", "check that", "security groups", "WEFT_CONNECT_TIMEOUT_S"}) {
    EXPECT_NE(nobody.error().what.find(part), std::string::npos) << part << " in: " << nobody.error().what;
  }
}

TEST(ListenerTest, TimeLimitBeginsWithTheFirstAcceptAndSaysWhatToCheck) {
  LogCapture::current().expect_warning("nobody connected");
  auto options = test::patient_options();
  options.connect_timeout = 30ms;
  DevicePair pair({}, options);
  Listening to(*pair.far);
  ASSERT_FALSE(test::poll_until([] { return false; }, 40ms));
  ASSERT_TRUE(sendrecv::accept(*to.listener).has_value()) << "nobody waited before";
  Result<std::unique_ptr<sendrecv::RecvComm>> outcome = nullptr;
  ASSERT_TRUE(test::poll_until([&] {
    outcome = sendrecv::accept(*to.listener);
    return !outcome.has_value();
  }));
  EXPECT_EQ(outcome.error().code, Code::kTimeout);
  EXPECT_NE(outcome.error().what.find("check that the peer rank is alive"), std::string::npos);
  EXPECT_FALSE(sendrecv::accept(*to.listener).has_value()) << "the error stays";
}

TEST(ConnectorTest, PeerThatClosesBeforeItsAcceptanceIsSeenIsNamed) {
  LogCapture::current().expect_warning("closed the connection before it was used");
  DevicePair pair;
  Listening to(*pair.far);
  std::unique_ptr<sendrecv::RecvComm> received;
  ASSERT_EQ(sendrecv::connect(*pair.near, to.handle).value(), nullptr);
  ASSERT_TRUE(test::poll_until([&] { return (received = sendrecv::accept(*to.listener).value()) != nullptr; }));
  sendrecv::close(std::move(received));
  const auto outcome = connect_to_end(*pair.near, to.handle, [] {});
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().code, Code::kRemote);
}

TEST(ConnectorTest, AttemptThatNobodyAsksForAgainIsForgotten) {
  auto options = test::patient_options();
  options.connect_timeout = 10ms;
  DevicePair pair({}, options);
  Listening given_up(*pair.far);
  ASSERT_EQ(sendrecv::connect(*pair.near, given_up.handle).value(), nullptr);
  test::poll_until([] { return false; }, 30ms);
  Listening other(*pair.far);
  ASSERT_EQ(sendrecv::connect(*pair.near, other.handle).value(), nullptr);
  const SpinGuard guard(pair.near->lock());
  EXPECT_EQ(pair.near->connectors().size(), 1U);
  EXPECT_EQ(pair.near->registry().size(), 1U);
}

TEST(ConnectorTest, HandleThatIsNotOursLeavesNothingBehind) {
  DevicePair pair;
  Handle garbage{};
  EXPECT_FALSE(sendrecv::connect(*pair.near, garbage).has_value());
  const SpinGuard guard(pair.near->lock());
  EXPECT_EQ(pair.near->registry().size(), 0U);
  EXPECT_TRUE(pair.near->connectors().empty());
  EXPECT_EQ(pair.near->peers().size(), 0U);
}

}  // namespace
}  // namespace weft
