#include "tests/support/arena.h"

#include <algorithm>
#include <cstring>

namespace weft::soak {
namespace {

constexpr std::byte kFree{0xee};

std::uint64_t word(std::uint64_t seed, std::size_t index) noexcept {
  const std::uint64_t mixed = (seed + index + 1) * 0x9e3779b97f4a7c15;
  return mixed ^ (mixed >> 29);
}

}  // namespace

Arena::Arena(Link& link) : link_(link), out_(kBytes, kFree), in_(kBytes, kFree) {}

Result<std::unique_ptr<Arena>> Arena::make(Link& link) {
  std::unique_ptr<Arena> arena(new Arena(link));
  auto& plugin = link.plugin();
  TRY_VOID(check("regMr", plugin.reg_mr(link.sender(), arena->out_.data(), kBytes, &arena->out_memory_)));
  TRY_VOID(check("regMr", plugin.reg_mr(link.receiver(), arena->in_.data(), kBytes, &arena->in_memory_)));
  return arena;
}

Arena::~Arena() {
  if (out_memory_ != nullptr) link_.plugin().dereg_mr(link_.sender(), out_memory_);
  if (in_memory_ != nullptr) link_.plugin().dereg_mr(link_.receiver(), in_memory_);
}

std::optional<std::uint64_t> Arena::take(std::size_t bytes) noexcept {
  std::uint64_t at = head_;
  if (at % kBytes + bytes > kBytes) at += kBytes - at % kBytes;
  if (at + bytes - tail_ > kBytes) return {};
  head_ = at + bytes;
  return at;
}

void fill(std::span<std::byte> bytes, std::uint64_t seed) noexcept {
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(std::uint64_t)) {
    const std::uint64_t value = word(seed, i);
    std::memcpy(&bytes[i], &value, std::min(sizeof value, bytes.size() - i));
  }
}

std::size_t wrong_bytes(std::span<const std::byte> bytes, std::uint64_t seed) noexcept {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(std::uint64_t)) {
    const std::uint64_t value = word(seed, i);
    const std::size_t some = std::min(sizeof value, bytes.size() - i);
    if (std::memcmp(&bytes[i], &value, some) == 0) continue;
    std::byte right[sizeof value];
    std::memcpy(right, &value, sizeof value);
    for (std::size_t j = 0; j < some; ++j) wrong += bytes[i + j] != right[j] ? 1 : 0;
  }
  return wrong;
}

void clear(std::span<std::byte> bytes) noexcept { std::ranges::fill(bytes, kFree); }

std::size_t written_bytes(std::span<const std::byte> bytes) noexcept {
  return bytes.size() - static_cast<std::size_t>(std::ranges::count(bytes, kFree));
}

}  // namespace weft::soak
