#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/fabric_fake/random.h"
#include "weft/wire.h"

namespace weft {
namespace {

constexpr auto kOurs = TransportId::kSendRecv;

template <class Message>
std::vector<std::byte> bytes_of(const Message& message) {
  const auto bytes = std::as_bytes(std::span(&message, 1)).first(wire_size(message));
  return {bytes.begin(), bytes.end()};
}

ConnectRequest sample_request(std::uint16_t payload = 5) {
  ConnectRequest request{};
  request.nonce = 77;
  request.connector = 88;
  request.pid = 4711;
  request.address_size = 16;
  std::strcpy(request.host, "node-7");
  request.payload_size = payload;
  for (std::size_t i = 0; i < payload; ++i) request.payload[i] = static_cast<std::byte>(i + 1);
  request.header = make_header(ControlType::kConnectRequest, kOurs, wire_size(request), 99);
  return request;
}

ConnectReply sample_reply(std::uint16_t payload = 5) {
  ConnectReply reply{};
  reply.verdict = Verdict::kAccepted;
  reply.receiver = 1234;
  reply.payload_size = payload;
  for (std::size_t i = 0; i < payload; ++i) reply.payload[i] = static_cast<std::byte>(i + 1);
  reply.header = make_header(ControlType::kConnectReply, kOurs, wire_size(reply), 99);
  return reply;
}

Notice sample_notice() {
  Notice notice{};
  notice.kind = NoticeKind::kTruncated;
  notice.tag = -3;
  notice.sequence = 4095;
  notice.sent_bytes = 1'000'000;
  notice.header = make_header(ControlType::kNotice, kOurs, sizeof notice, 99);
  return notice;
}

/// Each kind of message, whole.
std::vector<std::vector<std::byte>> samples() {
  return {bytes_of(sample_request(0)), bytes_of(sample_request()), bytes_of(sample_request(kMaxPayloadBytes)),
          bytes_of(sample_reply(0)),   bytes_of(sample_reply()),   bytes_of(sample_reply(kMaxPayloadBytes)),
          bytes_of(sample_notice())};
}

template <class T>
void put(std::vector<std::byte>& bytes, std::size_t place, T value) {
  ASSERT_LE(place + sizeof value, bytes.size());
  std::memcpy(bytes.data() + place, &value, sizeof value);
}

std::string refusal(std::span<const std::byte> bytes) {
  const auto parsed = parse_control(bytes, kOurs);
  return parsed ? "it was taken" : parsed.error();
}

TEST(WireControlTest, RequestComesBackWithItsPayloadAndZeroesBehindIt) {
  const auto parsed = parse_control(bytes_of(sample_request()), kOurs);
  ASSERT_TRUE(parsed.has_value()) << parsed.error();
  const auto& request = std::get<ConnectRequest>(*parsed);
  const ConnectRequest wanted = sample_request();
  EXPECT_EQ(std::memcmp(&request, &wanted, sizeof wanted), 0);
}

TEST(WireControlTest, ReplyAndNoticeComeBack) {
  const auto reply = parse_control(bytes_of(sample_reply()), kOurs);
  ASSERT_TRUE(reply.has_value()) << reply.error();
  const ConnectReply wanted_reply = sample_reply();
  EXPECT_EQ(std::memcmp(&std::get<ConnectReply>(*reply), &wanted_reply, sizeof wanted_reply), 0);
  const auto notice = parse_control(bytes_of(sample_notice()), kOurs);
  ASSERT_TRUE(notice.has_value()) << notice.error();
  const Notice wanted_notice = sample_notice();
  EXPECT_EQ(std::memcmp(&std::get<Notice>(*notice), &wanted_notice, sizeof wanted_notice), 0);
}

TEST(WireControlTest, EveryCutOfEveryMessageIsRefused) {
  for (const auto& whole : samples()) {
    for (std::size_t kept = 0; kept < whole.size(); ++kept) {
      // A copy of the exact size, so that a sanitizer sees a read past the end.
      const std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(kept));
      ASSERT_NE(refusal(cut), "it was taken") << kept << " of " << whole.size() << " bytes";
    }
  }
}

TEST(WireControlTest, EveryCutWhoseSizeFieldAgreesIsRefused) {
  for (const auto& whole : samples()) {
    for (std::size_t kept = sizeof(ControlHeader); kept < whole.size(); ++kept) {
      std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(kept));
      put(cut, offsetof(ControlHeader, size), static_cast<std::uint32_t>(kept));
      ASSERT_NE(refusal(cut), "it was taken") << kept << " of " << whole.size() << " bytes";
    }
  }
}

TEST(WireControlTest, EveryExcessIsRefused) {
  for (const auto& whole : samples()) {
    std::vector<std::byte> longer = whole;
    while (longer.size() < 2 * kMaxControlBytes) {
      longer.push_back(std::byte{0});
      ASSERT_NE(refusal(longer), "it was taken") << longer.size();
      put(longer, offsetof(ControlHeader, size), static_cast<std::uint32_t>(longer.size()));
      ASSERT_NE(refusal(longer), "it was taken") << longer.size() << ", and its size field says so";
    }
  }
}

TEST(WireControlTest, EverySizeFieldThatLiesIsRefused) {
  for (const auto& whole : samples()) {
    for (const std::uint32_t size : {0U, 1U, 24U, static_cast<unsigned>(whole.size()) - 1,
                                     static_cast<unsigned>(whole.size()) + 1, 1024U, 0x7fff'ffffU, 0xffff'ffffU}) {
      if (size == whole.size()) continue;
      std::vector<std::byte> liar = whole;
      put(liar, offsetof(ControlHeader, size), size);
      EXPECT_EQ(refusal(liar), "its size field is wrong") << size;
    }
  }
}

TEST(WireControlTest, EveryPayloadSizeThatLiesIsRefused) {
  std::vector<std::byte> request = bytes_of(sample_request());
  std::vector<std::byte> reply = bytes_of(sample_reply());
  for (unsigned size = 0; size <= 0xffff; ++size) {
    if (size == 5) continue;
    put(request, offsetof(ConnectRequest, payload_size), static_cast<std::uint16_t>(size));
    ASSERT_EQ(refusal(request), "its payload size is wrong") << size;
    put(reply, offsetof(ConnectReply, payload_size), static_cast<std::uint16_t>(size));
    ASSERT_EQ(refusal(reply), "its payload size is wrong") << size;
  }
}

TEST(WireControlTest, AddressSizesOutOfRangeAreRefused) {
  for (const unsigned size : {0U, 65U, 1024U, 65535U}) {
    ConnectRequest request = sample_request();
    request.address_size = static_cast<std::uint16_t>(size);
    EXPECT_EQ(refusal(bytes_of(request)), "its address size is wrong") << size;
  }
}

TEST(WireControlTest, HostWithoutAnEndIsRefused) {
  ConnectRequest request = sample_request();
  std::memset(request.host, 'x', sizeof request.host);
  EXPECT_EQ(refusal(bytes_of(request)), "its host name has no end");
  request.host[sizeof request.host - 1] = '\0';
  EXPECT_TRUE(parse_control(bytes_of(request), kOurs).has_value());
}

TEST(WireControlTest, StrangersVersionsTransportsAndTypesAreRefusedByName) {
  for (const auto& whole : samples()) {
    std::vector<std::byte> other = whole;
    put(other, offsetof(ControlHeader, magic), std::uint32_t{1});
    EXPECT_EQ(refusal(other), "it is not Weft's");
    other = whole;
    put(other, offsetof(ControlHeader, version), static_cast<std::uint16_t>(kWireVersion + 1));
    EXPECT_EQ(refusal(other), "the peer runs another version of Weft");
    other = whole;
    put(other, offsetof(ControlHeader, transport), TransportId::kRdma);
    EXPECT_EQ(refusal(other), "the peer uses another transport");
    for (const unsigned type : {0U, 4U, 255U}) {
      other = whole;
      put(other, offsetof(ControlHeader, type), static_cast<std::uint8_t>(type));
      EXPECT_EQ(refusal(other), "its type is unknown") << type;
    }
  }
}

TEST(WireControlTest, MessageOfOneTypeIsNotTakenForAnother) {
  for (const auto& whole : samples()) {
    for (std::uint8_t type = 1; type <= 3; ++type) {
      std::vector<std::byte> other = whole;
      if (other[offsetof(ControlHeader, type)] == static_cast<std::byte>(type)) continue;
      put(other, offsetof(ControlHeader, type), type);
      EXPECT_NE(refusal(other), "it was taken") << whole.size() << " bytes as type " << int{type};
    }
  }
}

TEST(WireControlTest, RandomBytesAreRefused) {
  constexpr std::uint64_t kSeed = 31;
  test::Random random(kSeed);
  const ControlHeader header = make_header(ControlType::kNotice, kOurs, 0, 0);
  for (int i = 0; i < 20'000; ++i) {
    std::vector<std::byte> bytes(random.below(kMaxControlBytes + 64));
    for (std::byte& each : bytes) each = static_cast<std::byte>(random.next());
    if (bytes.size() >= sizeof header && i % 2 == 0) {
      // Past the magic, the version and the transport, with a type that may exist. The size stays a lie.
      std::memcpy(bytes.data(), &header, offsetof(ControlHeader, size));
      bytes[offsetof(ControlHeader, type)] = static_cast<std::byte>(random.below(5));
    }
    ASSERT_NE(refusal(bytes), "it was taken") << "seed " << kSeed << ", message " << i;
  }
}

TEST(WireControlTest, EveryVerdictHasWords) {
  for (std::uint32_t verdict = 0; verdict <= static_cast<std::uint32_t>(Verdict::kFailed); ++verdict) {
    EXPECT_STRNE(verdict_text(static_cast<Verdict>(verdict)), "unknown reason") << verdict;
  }
  EXPECT_STREQ(verdict_text(static_cast<Verdict>(0xffff'ffff)), "unknown reason");
}

std::uint64_t tag_of(Key receiver, int tag, std::uint32_t sequence) {
  std::uint64_t data = data_tag(receiver, tag);
  for (std::uint32_t i = 0; i < sequence; ++i) data += kNextInSequence;
  return data;
}

TEST(WireTagTest, EveryPartComesBack) {
  for (const std::uint32_t id : {0U, 1U, 0x12345U, kMaxIds - 1}) {
    for (const int tag : {0, 1, -1, 0x7fff'ffff, static_cast<int>(0x8000'0000)}) {
      for (const std::uint32_t sequence : {0U, 1U, kSequenceSpace - 1}) {
        const std::uint64_t data = tag_of(id, tag, sequence);
        EXPECT_EQ(nccl_tag_of(data), tag);
        EXPECT_EQ(sequence_of(data), sequence);
        // What is left is the id, and nothing else.
        EXPECT_EQ(data - tag_of(0, tag, sequence), std::uint64_t{id} << 32);
      }
    }
  }
}

TEST(WireTagTest, OnlyTheIdOfTheReceiversKeyCounts) {
  EXPECT_EQ(tag_of((Key{0xabcdef} << kIdBits) | 7, 1, 2), tag_of(7, 1, 2));
}

TEST(WireTagTest, SequenceWrapsWithoutTouchingTheRest) {
  const Key key = kMaxIds - 1;
  EXPECT_EQ(tag_of(key, -1, kSequenceSpace), tag_of(key, -1, 0));
  EXPECT_EQ(tag_of(key, -1, 3 * kSequenceSpace + 7), tag_of(key, -1, 7));
}

}  // namespace
}  // namespace weft
