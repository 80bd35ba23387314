// How the fake's endpoints are called: 16 bytes, a magic and a number.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

namespace weft::test {

inline constexpr std::size_t kFakeAddressBytes = 16;

struct FakeAddress {
  char magic[8] = {'f', 'a', 'k', 'e', 'a', 'd', 'd', 'r'};
  std::uint64_t endpoint = 0;
};
static_assert(sizeof(FakeAddress) == kFakeAddressBytes);

/// Writes as much of the address as fits.
inline void write_address(std::size_t endpoint, void* out, std::size_t room) noexcept {
  FakeAddress address;
  address.endpoint = endpoint;
  std::memcpy(out, &address, std::min(room, sizeof address));
}

/// The endpoint's number, which need not exist; nothing for bytes that are no address. Reads kFakeAddressBytes.
inline std::optional<std::size_t> parse_address(const void* bytes) noexcept {
  FakeAddress address;
  std::memcpy(&address, bytes, sizeof address);
  if (std::memcmp(address.magic, FakeAddress{}.magic, sizeof address.magic) != 0) return std::nullopt;
  if (address.endpoint == 0) return std::nullopt;  // which stands for nobody
  return address.endpoint;
}

}  // namespace weft::test
