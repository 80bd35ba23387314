#include "transports/rdma/card.h"

#include <cstring>

namespace weft::rdma {

Result<Card> parse_card(std::span<const std::byte> payload, std::size_t address_size) {
  Card card;
  if (payload.size() != sizeof card) {
    return fail(Code::kRemote, "the peer describes its rails in " + std::to_string(payload.size()) +
                                   " bytes where this version has " + std::to_string(sizeof card) +
                                   "; every node must run the same Weft");
  }
  std::memcpy(&card, payload.data(), sizeof card);
  if (card.rails < 1 || card.rails > kMaxRails) {
    return fail(Code::kRemote, "the peer claims " + std::to_string(card.rails) + " rails; 1 to " +
                                   std::to_string(kMaxRails) + " are possible");
  }
  if (card.address_size != address_size) {
    return fail(Code::kRemote, "the peer's addresses have " + std::to_string(card.address_size) +
                                   " bytes, this side's " + std::to_string(address_size) +
                                   "; both must use the same libfabric provider");
  }
  return card;
}

}  // namespace weft::rdma
