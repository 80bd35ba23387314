// What RDMA connections exchange: immediates, permissions in the mailbox, cards. All of it may be late, torn or forged.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

#include "transports/rdma/card.h"
#include "transports/rdma/immediate.h"
#include "transports/rdma/mailbox.h"

namespace weft::rdma {
namespace {

TEST(ImmediateTest, EveryFieldComesBack) {
  for (const std::uint16_t comm : {0, 1, 0x5555, 0x7fff}) {
    for (int sequence = 0; sequence <= static_cast<int>(kSequenceMask); ++sequence) {
      for (std::uint8_t sub = 0; sub < 8; ++sub) {
        for (const std::uint8_t generation : {0, 1}) {
          const Immediate what{comm, static_cast<std::uint8_t>(sequence), sub, generation, 35};
          ASSERT_EQ(Immediate::from(what.bits()), what);
        }
      }
    }
  }
}

TEST(ImmediateTest, NumbersThatAreTooLargeReachNoOtherField) {
  const Immediate what{3, 0xff, 2, 7, 4};
  EXPECT_EQ(Immediate::from(what.bits()), (Immediate{3, 0x7f, 2, 1, 4}));
}

TEST(ImmediateTest, EachStripeHasItsOwnCode) {
  std::set<int> codes;
  for (std::uint8_t count = 1; count <= kMaxStripes; ++count) {
    for (std::uint8_t index = 0; index < count; ++index) {
      const std::uint8_t code = stripe_code(index, count);
      EXPECT_TRUE(codes.insert(code).second);
      EXPECT_EQ(kStripeOfCode[code].stripe, 1U << index);
      EXPECT_EQ(kStripeOfCode[code].all, (1U << count) - 1);
    }
  }
  EXPECT_FALSE(codes.contains(kAskCode));
  for (std::uint8_t code = kAskCode; code < kCodes; ++code) EXPECT_EQ(kStripeOfCode[code].stripe, 0);
}

ClearToSend permission(std::uint32_t sequence) {
  ClearToSend entry{.sequence = sequence, .count = 2, .address = 0x1234567890, .size = 4096, .tag = -7, .cookie = 99};
  entry.seal = entry.right_seal();
  return entry;
}

TEST(MailboxTest, ACompletePermissionIsTaken) { EXPECT_TRUE(is_complete(permission(5), 5, 99)); }

TEST(MailboxTest, OthersPermissionsAreNot) {
  EXPECT_FALSE(is_complete(permission(5), 6, 99));
  EXPECT_FALSE(is_complete(permission(5), 5, 98));
  EXPECT_FALSE(is_complete(ClearToSend{}, 1, 0)) << "an empty mailbox";
}

TEST(MailboxTest, ACountThatCannotBeIsNot) {
  for (const std::uint8_t count : {0, 9, 255}) {
    auto entry = permission(5);
    entry.count = count;
    entry.seal = entry.right_seal();
    EXPECT_FALSE(is_complete(entry, 5, 99)) << int{count};
  }
}

/// A copy over an older permission, caught after any number of bytes, in either direction.
TEST(MailboxTest, ATornCopyIsNeverTaken) {
  auto answer = permission(37);
  answer.generation = 1;
  answer.seal = answer.right_seal();
  auto done = permission(37);
  done.state = EntryState::kDone;
  done.seal = done.right_seal();
  const ClearToSend empty{};
  struct Case {
    ClearToSend before, after;
  };
  for (const Case& step : {Case{permission(5), permission(37)}, Case{empty, permission(37)},
                           Case{permission(37), answer}, Case{permission(37), done}, Case{answer, done}}) {
    for (std::size_t bytes = 0; bytes <= sizeof(ClearToSend); ++bytes) {
      ClearToSend rising = step.before;
      ClearToSend falling = step.before;
      std::memcpy(static_cast<void*>(&rising), &step.after, bytes);
      std::memcpy(reinterpret_cast<std::byte*>(&falling) + sizeof falling - bytes,
                  reinterpret_cast<const std::byte*>(&step.after) + sizeof falling - bytes, bytes);
      for (const ClearToSend& torn : {rising, falling}) {
        if (!is_complete(torn, 37, 99)) continue;
        const bool is_old = std::memcmp(&torn, &step.before, sizeof torn) == 0;
        const bool is_new = std::memcmp(&torn, &step.after, sizeof torn) == 0;
        EXPECT_TRUE(is_old || is_new) << bytes << " bytes copied";
      }
    }
  }
}

Card card() {
  Card card{};
  card.rails = 4;
  card.address_size = 32;
  return card;
}

Result<Card> parsed(const Card& card) { return parse_card(std::as_bytes(std::span(&card, 1)), 32); }

TEST(CardTest, AGoodOneIsTaken) {
  const auto result = parsed(card());
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->rails, 4);
}

TEST(CardTest, OnesThatCannotBeAreRefusedInWords) {
  for (const std::uint8_t rails : {0, 9, 255}) {
    auto bad = card();
    bad.rails = rails;
    const auto result = parsed(bad);
    ASSERT_FALSE(result.has_value()) << int{rails};
    EXPECT_NE(result.error().what.find("rails"), std::string::npos);
  }
  auto foreign = card();
  foreign.address_size = 16;
  EXPECT_NE(parsed(foreign).error().what.find("provider"), std::string::npos);
  const Card whole = card();
  const auto bytes = std::as_bytes(std::span(&whole, 1));
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, sizeof(Card) - 1}) {
    EXPECT_FALSE(parse_card(bytes.first(size), 32).has_value()) << size;
  }
}

}  // namespace
}  // namespace weft::rdma
