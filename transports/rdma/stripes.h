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
  std::size_t offset = 0;
  std::size_t size = 0;
  std::uint8_t path = 0;  ///< which of the peer's paths carries it
};

struct StripePlan {
  std::uint8_t count = 0;  ///< 0: no path is up
  std::array<Stripe, kMaxStripes> stripes;
};

/// Every byte in exactly one stripe, in order; every stripe but the last a multiple of kStripeAlignment; no two stripes
/// on one path; none on a path that is down (`up`: bit i for path i). Short messages take one path, the `turn`-th of
/// those that are up, counted round and round, so that successive ones spread. An empty message is one empty stripe.
/// `most`: how many stripes there may be.
constexpr StripePlan plan_stripes(std::size_t size, std::uint8_t up, std::uint32_t turn,
                                  std::size_t most = kMaxStripes) noexcept {
  StripePlan plan;
  const auto paths = static_cast<std::uint32_t>(std::popcount(up));
  if (paths == 0) return plan;
  std::size_t wanted = size / kMinStripeBytes;
  if (wanted < 1) wanted = 1;
  if (wanted > paths) wanted = paths;
  if (wanted > most) wanted = most;
  std::size_t each = (size + wanted - 1) / wanted;
  each = (each + kStripeAlignment - 1) / kStripeAlignment * kStripeAlignment;

  std::array<std::uint8_t, kMaxStripes> alive{};
  for (std::uint8_t path = 0, found = 0; path < kMaxStripes; ++path) {
    if ((up >> path & 1) != 0) alive[found++] = path;
  }
  std::size_t offset = 0;
  do {
    Stripe& stripe = plan.stripes[plan.count];
    stripe.offset = offset;
    stripe.size = size - offset < each ? size - offset : each;
    stripe.path = alive[(turn + plan.count) % paths];
    offset += stripe.size;
    ++plan.count;
  } while (offset < size);
  return plan;
}

// Rounding up to the alignment never takes more stripes than wanted.
static_assert(plan_stripes(0, 0b1111, 5).count == 1 && plan_stripes(0, 0b1111, 5).stripes[0].path == 1);
static_assert(plan_stripes(1 << 20, 0b1111, 0).count == 4 && plan_stripes(1 << 20, 0b0101, 0).count == 2);
static_assert(plan_stripes(kMinStripeBytes * 2 - 1, 0xff, 0).count == 1 && plan_stripes(8, 0, 0).count == 0);

}  // namespace weft::rdma
