// What both ends of an RDMA connection have in common: the adapter, the paths to the peer, the connection's block.
#pragma once

#include "transports/connection/comm.h"
#include "transports/rdma/adapter.h"
#include "transports/rdma/paths.h"

namespace weft::rdma {

/// Between an operation's failure and the moment when nothing of it can arrive any more. Guess: a NIC that gives an
/// operation up sends nothing of it afterwards, and what is on the wire lives for milliseconds at most.
inline constexpr std::chrono::milliseconds kDrain{50};

/// Wants the device's lock.
class Connection : public Comm {
 public:
  ~Connection() override;

  Paths& paths() const noexcept { return *paths_; }
  void on_peer_failed(const Error& error) override;

  /// Called while a request waits.
  void waited() noexcept {
    if (!paths_->is_well() && (++tends_ & (kPollsPerTend - 1)) == 0) [[unlikely]]
      paths_->tend(Clock::now());
    waiting();
  }

 protected:
  /// Takes over one reference to each of `peer` and `paths`, and the block.
  Connection(Adapter& adapter, Peer* peer, Paths* paths, BlockRef block);

  Adapter& adapter() const noexcept { return adapter_; }
  Card card() const { return adapter_.card(block_); }
  Lane& lane(const Path& path) const noexcept { return adapter_.lanes()[path.local]; }
  Block& block() const noexcept { return *block_.block; }
  void* descriptor(const Path& path) const noexcept { return block_.slab->rails.descriptors[path.local]; }
  void look_for_peer(Clock::time_point now) noexcept override { paths_->look(now); }

 private:
  static constexpr std::uint32_t kPollsPerTend = 256;

  Adapter& adapter_;
  Paths* paths_;
  BlockRef block_;
  std::uint32_t tends_ = 0;
};

}  // namespace weft::rdma
