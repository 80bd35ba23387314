// The 32 bits that arrive with each write: which part of which message of which communicator has come.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "transports/connection/mr_cache.h"

namespace weft::rdma {

/// Stripes of one message: at most one per rail.
inline constexpr std::size_t kMaxStripes = kMaxRails;

/// 6 bits that say which stripe of how many: the 36 pairs (index, count) with index < count <= 8, numbered row by row;
/// and two codes more, for a sender that asks what has become of a message (PROTOCOL.md, "In doubt") and for a message
/// that comes before its permission (there, "Early": the buffer's number is that of the early message's slot).
inline constexpr std::uint8_t kAskCode = kMaxStripes * (kMaxStripes + 1) / 2;
inline constexpr std::uint8_t kEarlyCode = kAskCode + 1;
inline constexpr std::uint8_t kCodes = 64;

/// As bits, one for each stripe of a message. Both zero: no stripe's code.
struct StripeBits {
  std::uint8_t stripe;
  std::uint8_t all;
};

constexpr std::uint8_t stripe_code(std::uint8_t index, std::uint8_t count) noexcept {
  return static_cast<std::uint8_t>(count * (count - 1) / 2 + index);
}

inline constexpr auto kStripeOfCode = [] {
  std::array<StripeBits, kCodes> table{};
  for (std::uint8_t count = 1; count <= kMaxStripes; ++count) {
    for (std::uint8_t index = 0; index < count; ++index) {
      table[stripe_code(index, count)] = {static_cast<std::uint8_t>(1U << index),
                                          static_cast<std::uint8_t>((1U << count) - 1)};
    }
  }
  return table;
}();

inline constexpr int kCommBits = 15;
inline constexpr int kSequenceBits = 7;
inline constexpr std::uint32_t kMaxComms = 1U << kCommBits;
inline constexpr std::uint32_t kSequenceMask = (1U << kSequenceBits) - 1;

/// Fields of an immediate, low to high: code 6, generation 1, sub-receive 3, sequence 7, communicator 15.
struct Immediate {
  std::uint16_t comm = 0;   ///< of the receiver, below kMaxComms
  std::uint8_t sequence;    ///< low bits of the message's sequence number
  std::uint8_t sub;         ///< which buffer of a grouped receive
  std::uint8_t generation;  ///< low bit of how often the message has been sent anew
  std::uint8_t code;

  constexpr std::uint32_t bits() const noexcept {
    return std::uint32_t{comm} << 17 | (std::uint32_t{sequence} & kSequenceMask) << 10 | std::uint32_t{sub} << 7 |
           (std::uint32_t{generation} & 1) << 6 | code;
  }
  /// All of it but the code, for a whole immediate: which message it belongs to.
  static constexpr std::uint32_t message(std::uint32_t bits) noexcept { return bits >> 6; }
  static constexpr Immediate from(std::uint32_t bits) noexcept {
    return {static_cast<std::uint16_t>(bits >> 17), static_cast<std::uint8_t>(bits >> 10 & kSequenceMask),
            static_cast<std::uint8_t>(bits >> 7 & 7), static_cast<std::uint8_t>(bits >> 6 & 1),
            static_cast<std::uint8_t>(bits & 63)};
  }
  friend constexpr bool operator==(const Immediate&, const Immediate&) = default;
};
static_assert(kCommBits + kSequenceBits + 3 + 1 + 6 == 32);
static_assert(Immediate::from(Immediate{0x7fff, 0x7f, 7, 1, 36}.bits()) == Immediate{0x7fff, 0x7f, 7, 1, 36});
static_assert(Immediate::from(Immediate{0x1234, 0x05, 3, 0, 8}.bits()) == Immediate{0x1234, 0x05, 3, 0, 8});
static_assert(kEarlyCode < kCodes && stripe_code(7, 8) == kAskCode - 1);

}  // namespace weft::rdma
