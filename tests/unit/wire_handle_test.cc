#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>

#include "tests/fabric_fake/random.h"
#include "weft/wire.h"

namespace weft {
namespace {

using Bytes = std::array<std::byte, kHandleBytes>;

ConnectHandle sample() {
  ConnectHandle handle{};
  handle.transport = TransportId::kSendRecv;
  handle.address_size = 16;
  handle.nonce = 0x0123'4567'89ab'cdef;
  handle.listener = 0xfeed'face'cafe'beef;
  handle.pid = 4711;
  for (std::size_t i = 0; i < 16; ++i) handle.address[i] = static_cast<std::byte>(i + 1);
  std::strcpy(handle.host, "node-7");
  return handle;
}

Bytes bytes_of(const ConnectHandle& handle) {
  Bytes bytes;
  std::memcpy(bytes.data(), &handle, sizeof handle);
  return bytes;
}

Bytes sealed(ConnectHandle handle = sample()) {
  seal(handle);
  return bytes_of(handle);
}

Error refusal(const Bytes& bytes, TransportId transport = TransportId::kSendRecv) {
  const auto parsed = parse_handle(bytes, transport);
  EXPECT_FALSE(parsed.has_value()) << "the handle was taken";
  return parsed ? Error{Code::kInternal, 0, ""} : parsed.error();
}

TEST(WireHandleTest, ComesBackAsItWasSealed) {
  const auto parsed = parse_handle(sealed(), TransportId::kSendRecv);
  ASSERT_TRUE(parsed.has_value()) << parsed.error().what;
  const ConnectHandle wanted = sample();
  EXPECT_EQ(parsed->nonce, wanted.nonce);
  EXPECT_EQ(parsed->listener, wanted.listener);
  EXPECT_EQ(parsed->pid, wanted.pid);
  EXPECT_EQ(parsed->address_size, wanted.address_size);
  EXPECT_EQ(std::memcmp(parsed->address, wanted.address, sizeof wanted.address), 0);
  EXPECT_STREQ(parsed->host, "node-7");
  EXPECT_EQ(parsed->connector, 0U);
}

TEST(WireHandleTest, EverySingleByteChangeIsRefusedButThoseOfTheConnectorField) {
  const Bytes whole = sealed();
  for (std::size_t place = 0; place < kHandleBytes; ++place) {
    for (unsigned change = 1; change < 256; ++change) {
      Bytes damaged = whole;
      damaged[place] ^= static_cast<std::byte>(change);
      const bool taken = parse_handle(damaged, TransportId::kSendRecv).has_value();
      ASSERT_EQ(taken, place >= offsetof(ConnectHandle, connector)) << "byte " << place << " changed by " << change;
    }
  }
}

TEST(WireHandleTest, EverySwapOfTwoNeighboursIsRefused) {
  const Bytes whole = sealed();
  for (std::size_t place = 0; place + 1 < offsetof(ConnectHandle, connector); ++place) {
    Bytes damaged = whole;
    std::swap(damaged[place], damaged[place + 1]);
    if (damaged == whole) continue;
    EXPECT_FALSE(parse_handle(damaged, TransportId::kSendRecv).has_value()) << "bytes " << place << " and its next";
  }
}

TEST(WireHandleTest, EveryCutIsRefused) {
  const Bytes whole = sealed();
  for (std::size_t kept = 0; kept < offsetof(ConnectHandle, host); ++kept) {
    Bytes cut{};
    std::memcpy(cut.data(), whole.data(), kept);
    if (cut == whole) continue;
    EXPECT_FALSE(parse_handle(cut, TransportId::kSendRecv).has_value()) << "cut after " << kept;
  }
}

TEST(WireHandleTest, AnotherPluginsHandleIsNamedSo) {
  Bytes other{};
  other[0] = std::byte{0x42};
  const Error error = refusal(other);
  EXPECT_EQ(error.code, Code::kArgument);
  EXPECT_NE(error.what.find("not made by Weft"), std::string::npos) << error.what;
}

TEST(WireHandleTest, AnotherVersionIsNamedWithBothNumbers) {
  Bytes other = sealed();
  const std::uint16_t version = 321;
  std::memcpy(other.data() + offsetof(ConnectHandle, version), &version, sizeof version);
  const Error error = refusal(other);
  EXPECT_EQ(error.code, Code::kRemote);
  EXPECT_NE(error.what.find("version 321"), std::string::npos) << error.what;
  EXPECT_NE(error.what.find("version " + std::to_string(kWireVersion)), std::string::npos) << error.what;
}

TEST(WireHandleTest, AnotherTransportIsNamedSo) {
  const Error error = refusal(sealed(), TransportId::kRdma);
  EXPECT_EQ(error.code, Code::kRemote);
  EXPECT_NE(error.what.find("another transport"), std::string::npos) << error.what;
}

TEST(WireHandleTest, DamageIsNamedSo) {
  Bytes damaged = sealed();
  damaged[offsetof(ConnectHandle, nonce)] ^= std::byte{1};
  EXPECT_NE(refusal(damaged).what.find("damaged"), std::string::npos);
}

TEST(WireHandleTest, AddressSizesOutOfRangeAreRefusedEvenWhenSealed) {
  for (const unsigned size : {0U, 65U, 128U, 255U}) {
    ConnectHandle handle = sample();
    handle.address_size = static_cast<std::uint8_t>(size);
    EXPECT_NE(refusal(sealed(handle)).what.find("out of range"), std::string::npos) << size;
  }
}

TEST(WireHandleTest, HostWithoutAnEndIsRefusedEvenWhenSealed) {
  ConnectHandle handle = sample();
  std::memset(handle.host, 'x', sizeof handle.host);
  EXPECT_NE(refusal(sealed(handle)).what.find("out of range"), std::string::npos);
}

TEST(WireHandleTest, RandomBytesAreRefused) {
  constexpr std::uint64_t kSeed = 20240607;
  test::Random random(kSeed);
  for (int i = 0; i < 100'000; ++i) {
    Bytes bytes;
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
      const std::uint64_t word = random.next();
      std::memcpy(bytes.data() + at, &word, sizeof word);
    }
    // Half of them get past the first two checks.
    if (i % 2 == 0) std::memcpy(bytes.data(), sealed().data(), offsetof(ConnectHandle, address_size));
    ASSERT_FALSE(parse_handle(bytes, TransportId::kSendRecv).has_value()) << "seed " << kSeed << ", handle " << i;
  }
}

}  // namespace
}  // namespace weft
