// Strangers on the network: what they send is refused, counted and logged, and costs nobody anything.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "tests/fabric_fake/random.h"
#include "tests/support/comm_pair.h"
#include "tests/support/log_capture.h"

namespace weft {
namespace {

using test::CommPair;
using test::DevicePair;
using test::Handle;
using test::LogCapture;
using test::Stranger;

/// From here on there are no endpoints.
constexpr std::size_t kNobody = 100'000;

class HostileTest : public testing::Test {
 protected:
  HostileTest() : comms_(pair_.connect()), stranger_(pair_.fake), listener_(test::listen_on(*pair_.far, handle_)) {}

  ControlCounters counters() {
    const SpinGuard guard(pair_.far->lock());
    return pair_.far->control().counters();
  }
  std::size_t peers() {
    const SpinGuard guard(pair_.far->lock());
    return pair_.far->peers().size();
  }
  static std::size_t warnings() {
    std::size_t count = 0;
    for (const auto& line : LogCapture::current().lines()) count += line.level == log::Level::kWarn ? 1 : 0;
    return count;
  }
  /// The connection made before still carries data, and a new one can be made.
  void expect_nobody_was_hurt() {
    std::array<std::byte, 100> out{};
    std::array<std::byte, 100> in{};
    test::fill(out, 9);
    sendrecv::Request* const sent = test::send(*comms_.send, out);
    ASSERT_NE(sent, nullptr) << comms_.send->error().what;
    sendrecv::Request* const received = test::receive(*comms_.receive, std::array{test::Buffer{in}});
    ASSERT_NE(received, nullptr) << comms_.receive->error().what;
    ASSERT_EQ(test::finish(std::array{sent, received}), TestStatus::kDone);
    EXPECT_EQ(in, out);
    const auto again = test::try_connect(*pair_.near, *pair_.far);
    EXPECT_TRUE(again.has_value()) << again.error().what;
  }
  ConnectRequest request() { return test::make_request(*pair_.far, handle_, stranger_.address()); }

  DevicePair pair_;
  CommPair comms_;
  Stranger stranger_;
  Handle handle_{};
  std::unique_ptr<Listener> listener_;
};

TEST_F(HostileTest, GarbageIsCountedOnceEachAndLoggedAtPowersOfTwo) {
  LogCapture::current().expect_warning("control message refused");
  test::Random random(3);
  constexpr std::uint64_t kMessages = 300;
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    std::vector<std::byte> bytes(random.below(kMaxControlBytes) + 1);
    for (auto& each : bytes) each = static_cast<std::byte>(random.next());
    stranger_.send_bytes(*pair_.far, bytes);
  }
  EXPECT_EQ(counters().refused, kMessages);
  EXPECT_EQ(warnings(), 9U) << "1, 2, 4, ... 256";
  expect_nobody_was_hurt();
}

TEST_F(HostileTest, EmptyMessageIsRefused) {
  LogCapture::current().expect_warning("it is cut short");
  stranger_.send_bytes(*pair_.far, std::span<const std::byte>());
  EXPECT_EQ(counters().refused, 1U);
  expect_nobody_was_hurt();
}

TEST_F(HostileTest, MessageLongerThanAControlBufferIsRefusedAndItsBufferUsedAgain) {
  LogCapture::current().expect_warning("it is too long");
  const std::vector<std::byte> longer(kMaxControlBytes + 1);
  for (std::size_t i = 0; i < 2 * ControlChannel::kReceives; ++i) stranger_.send_bytes(*pair_.far, longer);
  EXPECT_EQ(counters().refused, 2 * ControlChannel::kReceives);
  EXPECT_EQ(pair_.fake.posted_receives(test::kFarEndpoint), ControlChannel::kReceives);
  expect_nobody_was_hurt();
}

TEST_F(HostileTest, RequestWithAWrongNonceLeavesNoPeerBehind) {
  LogCapture::current().expect_warning("wrong nonce");
  const std::size_t before = peers();
  ConnectRequest guess = request();
  ++guess.nonce;
  stranger_.send_control(*pair_.far, guess);
  EXPECT_EQ(counters().refused, 1U);
  EXPECT_EQ(peers(), before);
  expect_nobody_was_hurt();
}

TEST_F(HostileTest, RequestForAnotherKindOfObjectIsRefused) {
  LogCapture::current().expect_warning("never existed");
  ConnectRequest wrong = request();
  wrong.header.target = comms_.receive->key();
  stranger_.send_control(*pair_.far, wrong);
  EXPECT_EQ(counters().refused, 1U);
  expect_nobody_was_hurt();
}

TEST_F(HostileTest, RequestWhoseAddressIsNoneIsCountedOnce) {
  LogCapture::current().expect_warning("wrong nonce");
  ConnectRequest nowhere = request();
  ++nowhere.nonce;
  std::memset(nowhere.address, 0x5a, sizeof nowhere.address);
  stranger_.send_control(*pair_.far, nowhere);
  EXPECT_EQ(counters().refused, 1U);
  EXPECT_EQ(warnings(), 1U);
  expect_nobody_was_hurt();
}

TEST_F(HostileTest, RequestWithTheNonceButWithoutAnAddressIsCountedOnce) {
  LogCapture::current().expect_warning("");
  ConnectRequest nowhere = request();
  std::memset(nowhere.address, 0x5a, sizeof nowhere.address);
  stranger_.send_control(*pair_.far, nowhere);
  EXPECT_EQ(counters().refused, 1U);
  expect_nobody_was_hurt();
}

TEST_F(HostileTest, RequestOfAConnectorWithoutAKeyTakesNoListener) {
  LogCapture::current().expect_warning("refused");
  Stranger other(pair_.fake);
  const std::size_t before = peers();
  // Zero stands for nobody: no reply could be addressed to it. Twice, so that a listener which takes the first for none
  // would lose its hold of the first one's peer.
  for (const auto& reply_to : {stranger_.address(), other.address()}) {
    ConnectRequest nobody = test::make_request(*pair_.far, handle_, reply_to);
    nobody.connector = 0;
    stranger_.send_control(*pair_.far, nobody);
  }
  EXPECT_EQ(counters().refused, 2U);
  listener_.reset();
  test::progress(*pair_.far);
  EXPECT_EQ(peers(), before);
  expect_nobody_was_hurt();
}

TEST_F(HostileTest, AddressOfAnotherSizeThanThisProvidersIsRefused) {
  LogCapture::current().expect_warning("");
  // The provider reads addresses of its own size whatever we say, so these are all the honest peer's address under
  // other names: an entry that is made and dropped for them would be the honest peer's.
  const auto honest = pair_.near->address();
  const std::uint64_t calls = pair_.fake.setup_calls();
  for (const std::uint16_t size : {1, 8, 15, 17, 64}) {
    ConnectRequest forged = test::make_request(*pair_.far, handle_, honest);
    forged.address_size = size;
    ++forged.nonce;
    stranger_.send_control(*pair_.far, forged);
  }
  EXPECT_EQ(counters().refused, 5U);
  // Each message of the stranger's inserts one address at his own end.
  EXPECT_EQ(pair_.fake.setup_calls() - calls, 5U) << "such an address went into the provider's address vector";
  expect_nobody_was_hurt();
}

TEST_F(HostileTest, FloodOfRequestsFromNowhereIsNoFloodOfLines) {
  LogCapture::current().expect_warning("");
  constexpr std::uint64_t kMessages = 500;
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    ConnectRequest forged = request();
    ++forged.nonce;
    test::write_address(kNobody + i, forged.address, sizeof forged.address);  // well formed, and nobody there
    stranger_.send_control(*pair_.far, forged);
  }
  EXPECT_EQ(counters().refused, kMessages);
  EXPECT_EQ(peers(), 1U);
  EXPECT_LT(warnings(), 30U) << "the reply to each cannot be delivered, which need not be said each time";
  expect_nobody_was_hurt();
}

TEST_F(HostileTest, StrangersWhoNeverTakeTheirRefusalDoNotUseUpTheControlSends) {
  LogCapture::current().expect_warning("");
  // A provider that keeps trying to reach an address where nobody answers gives no completion for a long time.
  pair_.fake.faults().on_post(
      test::bit(test::Verb::kSend), test::Selector::always(), test::PostFault::vanish(),
      [](const test::PostEvent& event) { return event.from == test::kFarEndpoint && event.to >= kNobody; });
  for (std::uint64_t i = 0; i < 2 * ControlChannel::kSends; ++i) {
    ConnectRequest forged = request();
    ++forged.nonce;
    test::write_address(kNobody + i, forged.address, sizeof forged.address);
    stranger_.send_control(*pair_.far, forged);
  }
  Handle handle{};
  const auto listener = test::listen_on(*pair_.far, handle);
  test::SendEnd sent;
  test::RecvEnd received;
  EXPECT_TRUE(test::poll_until([&] {
    if (!sent) sent.reset(sendrecv::connect(*pair_.near, handle).value().release());
    if (!received) received.reset(sendrecv::accept(*listener).value().release());
    return sent && received;
  })) << "an honest peer cannot be answered any more";
}

TEST_F(HostileTest, ReplyThatNobodyAskedForIsRefused) {
  ConnectReply reply{};
  reply.verdict = Verdict::kAccepted;
  reply.receiver = 1;
  for (const Key target : {Key{0}, Key{0xdead'beef}, comms_.receive->key(), ~Key{0}}) {
    reply.header = make_header(ControlType::kConnectReply, TransportId::kSendRecv, wire_size(reply), target);
    stranger_.send_control(*pair_.far, reply);
  }
  EXPECT_EQ(counters().refused, 4U);
  expect_nobody_was_hurt();
}

TEST_F(HostileTest, NoticeForNobodyIsLateAndNotRefused) {
  Notice notice{};
  notice.kind = NoticeKind::kTruncated;  // which would fail whoever takes it at once
  for (const Key target : {Key{0}, Key{0xdead'beef}, ~Key{0}, comms_.receive->key() ^ (Key{1} << 63)}) {
    notice.header = make_header(ControlType::kNotice, TransportId::kSendRecv, sizeof notice, target);
    stranger_.send_control(*pair_.far, notice);
  }
  EXPECT_EQ(counters().refused, 0U);
  expect_nobody_was_hurt();
}

TEST_F(HostileTest, NoticeOfAnUnknownKindIsRefused) {
  for (const std::uint32_t kind : {0U, 5U, 0xffff'ffffU}) {
    Notice notice{};
    notice.kind = static_cast<NoticeKind>(kind);
    notice.header = make_header(ControlType::kNotice, TransportId::kSendRecv, sizeof notice, comms_.receive->key());
    stranger_.send_control(*pair_.far, notice);
  }
  EXPECT_EQ(counters().refused, 3U);
  expect_nobody_was_hurt();
}

TEST_F(HostileTest, ReportOfMoreThanWasSentIsRefused) {
  Notice notice{};
  notice.kind = NoticeKind::kConsumed;
  notice.header = make_header(ControlType::kNotice, TransportId::kSendRecv, sizeof notice, comms_.send->key());
  notice.count = 1;
  stranger_.send_control(*pair_.near, notice);
  {
    const SpinGuard guard(pair_.near->lock());
    EXPECT_EQ(pair_.near->control().counters().refused, 1U);
  }
  // To a receiver it says nothing.
  notice.header.target = comms_.receive->key();
  stranger_.send_control(*pair_.far, notice);
  EXPECT_EQ(counters().refused, 1U);
  expect_nobody_was_hurt();
}

TEST_F(HostileTest, HostNameCannotForgeLogLines) {
  LogCapture::current().expect_warning("has been used already");
  ConnectRequest odd = request();
  std::strcpy(odd.host, "a\nWEFT WARN \x1b[31mfake");
  stranger_.send_control(*pair_.far, odd);  // this one gets the listener
  odd.connector = 1;
  stranger_.send_control(*pair_.far, odd);  // and this one is refused
  const test::RecvEnd made(sendrecv::accept(*listener_).value().release());
  ASSERT_NE(made, nullptr);
  // Every line about the peer has its name in it.
  for (const char c : made->peer().name()) EXPECT_GE(c, ' ') << made->peer().name();
  EXPECT_NE(made->peer().name().find("a?WEFT"), std::string::npos) << made->peer().name();
  for (const auto& line : LogCapture::current().lines()) {
    EXPECT_EQ(line.text.find('\n'), std::string::npos) << line.text;
    EXPECT_EQ(line.text.find('\x1b'), std::string::npos) << line.text;
  }
}

TEST_F(HostileTest, TaggedMessageForNobodyStaysUnmatched) {
  const std::array<std::byte, 16> bytes{};
  test::Random random(8);
  for (int i = 0; i < 100; ++i) stranger_.send_tagged(*pair_.far, bytes, random.next() | (std::uint64_t{1} << 63));
  expect_nobody_was_hurt();
}

}  // namespace
}  // namespace weft
