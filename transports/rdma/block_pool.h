// The connections' shares of registered memory: registered in slabs, so that a connection costs no registration.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "transports/connection/mr_cache.h"
#include "transports/fabric/domain.h"
#include "transports/rdma/mailbox.h"
#include "weft/result.h"

namespace weft::rdma {

/// A slab's memory and its registration on every rail.
struct Slab {
  std::byte* data = nullptr;
  RailRegions rails;
};

/// A block in use. `slab` gives its keys and descriptors.
struct BlockRef {
  Block* block = nullptr;
  const Slab* slab = nullptr;

  /// Where a peer finds it.
  std::uint64_t remote_address(bool virtual_addresses) const noexcept {
    const auto* at = reinterpret_cast<const std::byte*>(block);
    return virtual_addresses ? reinterpret_cast<std::uint64_t>(at) : static_cast<std::uint64_t>(at - slab->data);
  }
};

/// Not thread safe: callers hold the device's lock.
class BlockPool {
 public:
  /// `domains` must outlive the pool.
  explicit BlockPool(std::vector<const fabric::Domain*> domains) : domains_(std::move(domains)) {}
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  /// A zeroed block. Registers a new slab when no block is free or those that are were in use a moment ago.
  Result<BlockRef> take();
  /// The block may be handed out again after kRest, when writes of the old peer that were under way have landed.
  void give(BlockRef block) noexcept;

  std::size_t blocks() const noexcept { return slabs_.size() * kPerSlab; }

  static constexpr std::size_t kPerSlab = 32;
  static constexpr std::chrono::seconds kRest{2};
  /// Above so many blocks the rest is not waited for: a bound on memory matters more then, and cookie and sequence
  /// still tell an old write from a new one.
  static constexpr std::size_t kManyBlocks = 4096;

 private:
  struct Resting {
    BlockRef block;
    std::chrono::steady_clock::time_point since;
  };

  Status grow();

  std::vector<const fabric::Domain*> domains_;
  std::vector<std::unique_ptr<Slab>> slabs_;
  std::vector<BlockRef> fresh_;
  std::deque<Resting> resting_;
};

}  // namespace weft::rdma
