// How a message is cut over the paths to a peer: a pure function of its size, the paths that are up, and whose turn
// it is.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "transports/rdma/immediate.h"

namespace weft::rdma {

/// Below this a write does not fill an EFA NIC, and two writes of half the size take longer than one: EFA loses two to
/// four times below about 128 KiB a write (measured by others, field reports).
inline constexpr std::size_t kMinStripeBytes = 128 * 1024;
/// NCCL's LL128 protocol needs its 128-byte lines whole.
inline constexpr std::size_t kStripeAlignment = 128;

struct Stripe {
  std::size_t offset;
  std::size_t size;
  std::uint8_t path;  ///< which of the peer's paths carries it
};

/// Small, because every request has one: stripe i begins at i x `each` and takes path `paths[i]`.
struct StripePlan {
  std::uint8_t count = 0;  ///< 0: no path is up
  std::array<std::uint8_t, kMaxStripes> paths{};
  std::uint32_t each = 0;  ///< bytes of every stripe but the last

  /// Stripe `i` of a message of `size` bytes, the one that was planned for.
  constexpr Stripe stripe(std::uint8_t i, std::size_t size) const noexcept {
    const std::size_t offset = std::size_t{each} * i;
    const std::size_t rest = size > offset ? size - offset : 0;
    return {offset, rest < each ? rest : each, paths[i]};
  }
};

/// The `n`-th of the paths that are up; there must be more than `n`.
constexpr std::uint8_t nth_path(std::uint8_t up, std::uint32_t n) noexcept {
  unsigned rest = up;
  while (n-- > 0) rest &= rest - 1;
  return static_cast<std::uint8_t>(std::countr_zero(rest));
}

/// Every byte in exactly one stripe, in order; every stripe but the last a multiple of kStripeAlignment; no two stripes
/// on one path; none on a path that is down (`up`: bit i for path i). Short messages take one path, the `turn`-th of
/// those that are up, counted round and round, so that successive ones spread. An empty message is one empty stripe.
/// `most`: how many stripes there may be. `size`: below 4 GiB.
constexpr StripePlan plan_stripes(std::size_t size, std::uint8_t up, std::uint32_t turn,
                                  std::size_t most = kMaxStripes) noexcept {
  StripePlan plan;
  const auto paths = static_cast<std::uint32_t>(std::popcount(up));
  if (paths == 0) return plan;
  if (size < 2 * kMinStripeBytes) [[likely]] {
    plan.count = 1;
    plan.each = static_cast<std::uint32_t>(size);
    plan.paths[0] = nth_path(up, paths == 1 ? 0 : turn % paths);
    return plan;
  }
  std::size_t wanted = size / kMinStripeBytes;
  if (wanted > paths) wanted = paths;
  if (wanted > most) wanted = most;
  std::size_t each = (size + wanted - 1) / wanted;
  each = (each + kStripeAlignment - 1) / kStripeAlignment * kStripeAlignment;
  plan.each = static_cast<std::uint32_t>(each);
  plan.count = static_cast<std::uint8_t>((size + each - 1) / each);

  std::uint32_t skip = turn % paths;
  std::uint8_t path = 0;
  for (std::uint8_t i = 0; i < plan.count; ++path) {
    const std::uint8_t at = path % kMaxStripes;
    if ((up >> at & 1) == 0 || skip-- > 0) continue;
    skip = 0;
    plan.paths[i++] = at;
  }
  return plan;
}

// Rounding up to the alignment never takes more stripes than wanted.
static_assert(plan_stripes(0, 0b1111, 5).count == 1 && plan_stripes(0, 0b1111, 5).paths[0] == 1);
static_assert(plan_stripes(1 << 20, 0b1111, 0).count == 4 && plan_stripes(1 << 20, 0b0101, 0).count == 2);
static_assert(plan_stripes(kMinStripeBytes * 2 - 1, 0xff, 0).count == 1 && plan_stripes(8, 0, 0).count == 0);

}  // namespace weft::rdma
