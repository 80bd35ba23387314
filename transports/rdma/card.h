// What the two ends of a connection tell each other when it is made: their rails, and where to write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "transports/connection/mr_cache.h"
#include "weft/result.h"
#include "weft/wire.h"

namespace weft::rdma {

/// The payload of a connect request (from the sender) and of its reply (from the receiver).
struct Card {
  std::uint8_t rails;
  std::uint8_t address_size;
  std::uint16_t comm;         ///< receiver: its number in every immediate
  std::uint32_t cookie;       ///< sender: what every clear-to-send must show
  std::uint64_t block;        ///< the connection's Block, as the provider wants it
  std::uint64_t scratch;      ///< kScratchBytes that nobody reads, for probes and empty messages
  std::uint32_t takes_early;  ///< receiver: not 0: messages may come before their permission
  std::uint32_t reserved;
  struct RailCard {
    std::byte address[kMaxAddressBytes];
    std::uint32_t block_key;
    std::uint32_t scratch_key;
  } rail[kMaxRails];
};
static_assert(sizeof(Card) == 32 + 72 * kMaxRails && sizeof(Card) <= kMaxPayloadBytes);
static_assert(std::is_trivially_copyable_v<Card>);

inline constexpr std::size_t kScratchBytes = 64;

/// The card in a peer's payload; refused unless every field can be right. `address_size`: what this side's provider
/// has.
Result<Card> parse_card(std::span<const std::byte> payload, std::size_t address_size);

}  // namespace weft::rdma
