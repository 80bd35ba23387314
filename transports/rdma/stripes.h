// How a message is cut over the paths to a peer: a pure function of its size, the paths that are up, and the
// one used last.
#pragma once

#include <algorithm>
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
    return {offset, std::min(size - offset, std::size_t{each}), paths[i]};
  }
};

/// The path after `last` among those that are up, round and round; `up` must not be zero.
constexpr std::uint8_t path_after(std::uint8_t last, std::uint8_t up) noexcept {
  const unsigned later = up & ~1U << last;
  return static_cast<std::uint8_t>(std::countr_zero(later != 0 ? later : up));
}

/// The rest of plan_stripes() for a message that is long enough for more than one stripe.
[[gnu::noinline]] constexpr void cut(StripePlan& plan, std::size_t size, std::uint8_t up, std::size_t most) noexcept {
  const std::size_t wanted = std::min({size / kMinStripeBytes, static_cast<std::size_t>(std::popcount(up)), most});
  std::size_t each = (size + wanted - 1) / wanted;
  each = (each + kStripeAlignment - 1) / kStripeAlignment * kStripeAlignment;
  plan.each = static_cast<std::uint32_t>(each);
  plan.count = static_cast<std::uint8_t>((size + each - 1) / each);
  for (std::uint8_t i = 1; i < plan.count; ++i) plan.paths[i] = path_after(plan.paths[i - 1], up);
}

/// Every byte in exactly one stripe, in order; every stripe but the last a multiple of kStripeAlignment; no two stripes
/// on one path; none on a path that is down (`up`: bit i for path i). The first takes the path after `last`, so that
/// successive messages spread: short ones are not cut. An empty message is one empty stripe. `most`: how many stripes
/// there may be. `size`: below 4 GiB.
constexpr void plan_stripes(StripePlan& plan, std::size_t size, std::uint8_t up, std::uint8_t last,
                            std::size_t most = kMaxStripes) noexcept {
  plan.count = 0;
  if (up == 0) [[unlikely]]
    return;
  plan.count = 1;
  plan.paths[0] = path_after(last, up);
  plan.each = static_cast<std::uint32_t>(size);
  if (size >= 2 * kMinStripeBytes) cut(plan, size, up, most);
}
constexpr StripePlan plan_stripes(std::size_t size, std::uint8_t up, std::uint8_t last,
                                  std::size_t most = kMaxStripes) noexcept {
  StripePlan plan;
  plan_stripes(plan, size, up, last, most);
  return plan;
}

// Rounding up to the alignment never takes more stripes than wanted.
static_assert(plan_stripes(0, 0b1111, 0).count == 1 && plan_stripes(0, 0b1111, 0).paths[0] == 1);
static_assert(path_after(7, 0b1000'0001) == 0 && path_after(0, 0b1000'0001) == 7 && path_after(3, 0b1000) == 3);
static_assert(plan_stripes(1 << 20, 0b1111, 0).count == 4 && plan_stripes(1 << 20, 0b0101, 0).count == 2);
static_assert(plan_stripes(kMinStripeBytes * 2 - 1, 0xff, 0).count == 1 && plan_stripes(8, 0, 0).count == 0);

}  // namespace weft::rdma
