// The handshake and the control channel while the provider misbehaves.
#include <gtest/gtest.h>
#include <rdma/fi_errno.h>

#include <string>

#include "tests/support/comm_pair.h"
#include "tests/support/log_capture.h"
#include "transports/connection/connector.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
using test::bit;
using test::CommPair;
using test::DevicePair;
using test::FakeFabric;
using test::Handle;
using test::LogCapture;
using test::PostFault;
using test::Selector;
using test::Verb;

TEST(ConnectionFaultTest, HandshakeSurvivesAPostRefusedForNow) {
  for (std::uint64_t k = 2; k <= 5; ++k) {
    SCOPED_TRACE("every " + std::to_string(k) + "th post gets EAGAIN");
    DevicePair pair;
    pair.fake.faults().on_post(test::kAnyVerb, Selector::every(k), PostFault::again());
    for (int i = 0; i < 20; ++i) {
      const auto comms = test::try_connect(*pair.near, *pair.far);
      ASSERT_TRUE(comms.has_value()) << comms.error().what;
    }
    EXPECT_GT(pair.fake.faults().fired(), 0U);
  }
}

TEST(ConnectionFaultTest, HandshakeSurvivesEachSinglePostRefusedForNow) {
  for (std::uint64_t n = 1;; ++n) {
    SCOPED_TRACE("post " + std::to_string(n) + " gets EAGAIN ten times");
    FakeFabric fake;
    fake.faults().on_post(test::kAnyVerb, Selector::from(n, 10), PostFault::again());
    auto device_options = test::patient_options();
    device_options.connect_timeout = 2s;
    const auto near = test::open_device(fake, device_options);
    const auto far = test::open_device(fake, device_options);
    {
      const auto comms = test::try_connect(*near, *far);
      ASSERT_TRUE(comms.has_value()) << comms.error().what;
    }
    if (fake.faults().fired() == 0) break;
    ASSERT_LT(n, 1000U);
  }
}

TEST(ConnectionFaultTest, FullProviderLosesNoControlReceive) {
  FakeFabric fake;
  fake.faults().on_post(bit(Verb::kReceive), Selector::randomly(0.9), PostFault::again());
  const auto device = test::open_device(fake);
  Handle handle{};
  const auto listener = test::listen_on(*device, handle);
  EXPECT_TRUE(test::poll_until([&] {
    EXPECT_EQ(sendrecv::accept(*listener).value(), nullptr);
    return fake.posted_receives(1) == ControlChannel::kReceives;
  }));
}

TEST(ConnectionFaultTest, EachFailedSetUpCallLeavesNothingOpen) {
  // One of the failures is met by the listener, who must say so: nobody calls it at that moment.
  LogCapture::current().expect_warning("a connection cannot be accepted: fi_av_insert failed");
  LogCapture::current().expect_warning("the peer could not set up its side");
  test::FakeOptions options;
  options.nics.front().mr_mode = FI_MR_LOCAL;
  const auto injected = test::fail_each_setup_call(options, [](FakeFabric& fake) {
    auto infos = fake.library().discover(sendrecv::hints(""));
    if (!infos) return false;
    auto near = sendrecv::open_device(fake.library(), infos->front(), test::patient_options());
    if (!near) return false;
    auto far = sendrecv::open_device(fake.library(), infos->front(), test::patient_options());
    if (!far) return false;
    Handle handle{};
    auto listener = sendrecv::listen(**far, handle);
    if (!listener) return false;
    test::SendEnd send;
    test::RecvEnd receive;
    for (int i = 0; i < 50 && (!send || !receive); ++i) {
      if (!send) {
        auto comm = sendrecv::connect(**near, handle);
        if (!comm) return false;
        send.reset(comm->release());
      }
      if (!receive) {
        auto comm = sendrecv::accept(**listener);
        if (!comm) return false;
        receive.reset(comm->release());
      }
    }
    return send && receive;
  });
  EXPECT_GE(injected, 20U);
}

TEST(ConnectionFaultTest, ListenerWhosePeerDiesBeforeTheReplySaysSo) {
  LogCapture::current().expect_warning("cannot be reached");
  DevicePair pair;
  Handle handle{};
  const auto listener = test::listen_on(*pair.far, handle);
  ASSERT_EQ(sendrecv::connect(*pair.near, handle).value(), nullptr);
  test::progress(*pair.far);
  pair.fake.kill(test::kNearEndpoint, test::Death::kRefusing);
  Result<std::unique_ptr<sendrecv::RecvComm>> outcome = nullptr;
  test::RecvEnd received;
  ASSERT_TRUE(test::poll_until([&] {
    outcome = sendrecv::accept(*listener);
    if (outcome && *outcome) received.reset(outcome->release());
    return !outcome || (received && received->failed());
  }));
}

TEST(ConnectionFaultTest, ConnectorWhosePeerDiesBeforeTheReplyDoesNotWaitForItsTimeLimit) {
  LogCapture::current().expect_warning("cannot be reached");
  auto options = test::patient_options();
  options.peer_check = 5ms;
  DevicePair pair({}, options);
  Handle handle{};
  const auto listener = test::listen_on(*pair.far, handle);
  ASSERT_EQ(sendrecv::connect(*pair.near, handle).value(), nullptr);
  pair.fake.kill(test::kFarEndpoint, test::Death::kRefusing);
  Result<std::unique_ptr<sendrecv::SendComm>> outcome = nullptr;
  ASSERT_TRUE(test::poll_until([&] {
    outcome = sendrecv::connect(*pair.near, handle);
    return !outcome.has_value();
  }));
  EXPECT_EQ(outcome.error().code, Code::kRemote);
  EXPECT_NE(outcome.error().what.find("host "), std::string::npos) << outcome.error().what;
}

TEST(ConnectionFaultTest, ConnectorToASilentPeerEndsAtItsTimeLimit) {
  LogCapture::current().expect_warning("did not answer");
  auto options = test::patient_options();
  options.connect_timeout = 50ms;
  options.peer_check = 5ms;
  DevicePair pair({}, options);
  Handle handle{};
  const auto listener = test::listen_on(*pair.far, handle);
  pair.fake.kill(test::kFarEndpoint, test::Death::kSilent);
  Result<std::unique_ptr<sendrecv::SendComm>> outcome = nullptr;
  ASSERT_TRUE(test::poll_until([&] {
    outcome = sendrecv::connect(*pair.near, handle);
    return !outcome.has_value();
  }));
  EXPECT_EQ(outcome.error().code, Code::kTimeout);
}

TEST(ConnectionFaultTest, RejectedConnectRequestFailsAtOnceWithThePeersName) {
  LogCapture::current().expect_warning("cannot be reached");
  DevicePair pair;
  Handle handle{};
  const auto listener = test::listen_on(*pair.far, handle);
  pair.fake.faults().on_post(bit(Verb::kSend), Selector::always(), PostFault::reject(FI_EHOSTUNREACH));
  const auto outcome = sendrecv::connect(*pair.near, handle);
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().code, Code::kRemote);
  EXPECT_NE(outcome.error().what.find("security groups"), std::string::npos);
}

TEST(ConnectionFaultTest, PeerThatComesBackAtTheSameAddressCanConnectAgain) {
  LogCapture::current().expect_warning("cannot be reached");
  DevicePair pair;
  Handle handle{};
  const auto listener = test::listen_on(*pair.far, handle);
  pair.fake.faults().on_post(bit(Verb::kSend), Selector::nth(1), PostFault::reject(FI_ECONNREFUSED));
  ASSERT_FALSE(sendrecv::connect(*pair.near, handle).has_value());
  const CommPair comms = pair.connect();
  EXPECT_FALSE(comms.send->failed());
}

TEST(ConnectionFaultTest, FailingControlReceivesDoNotTrapProgress) {
  LogCapture::current().expect_warning("");
  DevicePair pair;
  test::Stranger stranger(pair.fake);
  // Every control receive posted from now on ends at once with an error, as on an endpoint that has broken.
  constexpr std::uint64_t kPlenty = 10'000;
  pair.fake.faults().on_post(bit(Verb::kReceive), Selector::from(1, kPlenty), PostFault::fail(FI_EIO));
  stranger.send_bytes(*pair.far, std::array<std::byte, 8>{});
  EXPECT_LT(pair.fake.faults().fired(), kPlenty / 2) << "a few calls read errors as fast as they came";
}

ssize_t broken_read(fid_cq*, void*, std::size_t) { return -FI_EIO; }

TEST(ConnectionFaultTest, BrokenCompletionQueueFailsEverybodyOnTheDeviceOnce) {
  LogCapture::current().expect_warning("completion queue of fake0 failed");
  DevicePair pair;
  const CommPair comms = pair.connect();
  Handle handle{};
  const auto listener = test::listen_on(*pair.near, handle);
  fid_cq* const queue = pair.near->rail().completions().get();
  fi_ops_cq* const working = queue->ops;
  fi_ops_cq broken = *working;
  broken.read = broken_read;
  queue->ops = &broken;
  std::array<std::byte, 8> bytes{};
  EXPECT_TRUE(test::poll_until([&] {
    sendrecv::Request* request = nullptr;
    if (test::try_send(*comms.send, bytes, 0, request) == PostStatus::kFailed) return true;
    if (request != nullptr) return sendrecv::test(*request, nullptr) == TestStatus::kFailed;
    return false;
  }));
  EXPECT_FALSE(sendrecv::accept(*listener).has_value()) << "a listener on a dead device waits for nobody";
  EXPECT_FALSE(comms.receive->failed()) << "another device is not concerned";
  std::size_t lines = 0;
  for (const auto& line : LogCapture::current().lines()) lines += line.level == log::Level::kWarn ? 1 : 0;
  EXPECT_EQ(lines, 1U);
  queue->ops = working;
}

TEST(ConnectionFaultTest, NewConnectionOnADeviceWithABrokenQueueFailsAtOnce) {
  LogCapture::current().expect_warning("completion queue of fake0 failed");
  DevicePair pair;
  Handle handle{};
  const auto listener = test::listen_on(*pair.far, handle);
  fid_cq* const queue = pair.near->rail().completions().get();
  fi_ops_cq* const working = queue->ops;
  fi_ops_cq broken = *working;
  broken.read = broken_read;
  queue->ops = &broken;
  test::progress(*pair.near);
  Result<std::unique_ptr<sendrecv::SendComm>> outcome = nullptr;
  EXPECT_TRUE(test::poll_until(
      [&] {
        outcome = sendrecv::connect(*pair.near, handle);
        return !outcome.has_value();
      },
      200ms))
      << "it waits for its time limit on a device that has said it is lost";
  queue->ops = working;
}

TEST(DeviceTest, ProviderWithTooSmallMessagesIsRefusedWithBothNumbers) {
  test::FakeOptions options;
  options.nics.front().max_message = kMaxControlBytes - 1;
  const FakeFabric fake(options);
  auto infos = fake.library().discover(sendrecv::hints(""));
  ASSERT_TRUE(infos.has_value());
  const auto device = sendrecv::open_device(fake.library(), infos->front(), test::patient_options());
  ASSERT_FALSE(device.has_value());
  EXPECT_EQ(device.error().code, Code::kUsage);
  EXPECT_NE(device.error().what.find("1023"), std::string::npos) << device.error().what;
  EXPECT_NE(device.error().what.find("1024"), std::string::npos) << device.error().what;
}

}  // namespace
}  // namespace weft
