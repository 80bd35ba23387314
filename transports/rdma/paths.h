// The ways to one remote process: which of its rails each of ours talks to, and which of them work.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "transports/connection/device.h"
#include "transports/fabric/endpoint.h"
#include "transports/rdma/card.h"
#include "transports/rdma/lane.h"
#include "transports/rdma/stripes.h"

namespace weft::rdma {

class Adapter;

/// Path i leads from this side's rail i to the peer's rail i, each counted round and round where one side has fewer.
/// The peer counts alike, so that what comes back takes the same pairs.
struct Path {
  std::uint8_t local = 0;   ///< which lane
  std::uint8_t remote = 0;  ///< which of the peer's rails: whose keys to use
  fi_addr_t address = FI_ADDR_UNSPEC;
};

/// Shared by all communicators to the process; owned by the adapter. Wants the device's lock.
class Paths {
 public:
  /// Enters the addresses of the peer's rails. Takes over one reference to `peer`.
  static Result<std::unique_ptr<Paths>> open(Adapter& adapter, Peer* peer, const Card& card);
  ~Paths();
  Paths(const Paths&) = delete;
  Paths& operator=(const Paths&) = delete;

  Peer& peer() const noexcept { return *peer_; }
  std::size_t count() const noexcept { return count_; }
  const Path& operator[](std::size_t path) const noexcept { return paths_[path]; }

  /// Bit i: path i works, as far as is known. Zero: the peer is lost.
  std::uint8_t up() const noexcept { return up_; }
  /// False while tend() has something to do.
  bool is_well() const noexcept { return is_well_; }
  bool is_up(std::size_t path) const noexcept { return (up_ >> path & 1) != 0; }
  /// The path after `last` that is up, round and round; there must be one.
  std::uint8_t pick(std::uint8_t last) const noexcept {
    if (!confirmed_ && is_up(0)) [[unlikely]]
      return 0;
    return path_after(last, up_);
  }

  /// The peer has shown that it knows all our rails: before, its NICs may refuse writes from those but the lead.
  bool confirmed() const noexcept { return confirmed_; }
  void confirm() noexcept { confirmed_ = true; }

  /// The peer's scratch memory, reached over `path`.
  fabric::RemoteMemory scratch(std::size_t path) const noexcept {
    return {scratch_, scratch_keys_[paths_[path].remote]};
  }

  /// An operation on `path` failed for the path's sake: takes it out and says so once. The last of several stays
  /// while probes of it and of the others find out whether the error lasts; if it does, all communicators to the peer
  /// fail.
  [[gnu::cold]] void path_failed(std::size_t path, const fabric::CompletionError& error) noexcept;
  /// The peer does not answer over the lead rail's control channel.
  [[gnu::cold]] void lead_failed(const Error& error) noexcept;
  /// Tries paths that are down, at growing intervals, so that they come back.
  void tend(Clock::time_point now) noexcept;
  /// Makes sure that a peer who owes something is still there.
  void look(Clock::time_point now) noexcept;

  void watch(Addressable& comm) { watchers_.push_back(&comm); }
  void unwatch(Addressable& comm) noexcept { std::erase(watchers_, &comm); }

  // For the adapter.
  void retain() noexcept { ++references_; }
  void release() noexcept { --references_; }
  bool is_idle() const noexcept { return references_ == 0 && probes_ == 0; }
  void probe_done(std::uint8_t path) noexcept;
  void probe_failed(std::uint8_t path, const fabric::CompletionError& error) noexcept;
  bool uses(std::uint8_t local, fi_addr_t address) const noexcept;

 private:
  Paths(Adapter& adapter, Peer* peer) : adapter_(adapter), peer_(peer) {}
  bool probe(std::uint8_t path) noexcept;
  /// On one path there is none: receives of which nobody waits for the end count on it that an error there is the end
  /// (PROTOCOL.md, "The good case"). Where addresses are sockets an error is the process's.
  bool may_have_another_chance() const noexcept;
  void begin_last_chance() noexcept;
  /// What has been found out in the last chance is old: it says nothing about now.
  bool is_stale(Clock::time_point now) const noexcept;
  void lost(Error error) noexcept;
  void take_out(std::size_t path) noexcept;
  /// To be called after every change of up_ and last_chance_.
  void settle() noexcept { is_well_ = up_ == static_cast<std::uint8_t>((1U << count_) - 1) && !last_chance_; }

  struct Health {
    bool probing = false;
    Clock::time_point returned;  ///< when it last came back
    std::uint32_t failures = 0;  ///< in a row, each soon after it came back
    bool told = false;           ///< the last of them has been logged
    Clock::time_point next_probe;
    Clock::duration backoff{};
  };

  Adapter& adapter_;
  Peer* peer_;
  std::uint8_t count_ = 0;
  std::uint8_t up_ = 0;
  bool is_well_ = true;  ///< kept, as it is asked for while a request waits
  bool confirmed_ = false;
  int failed_probes_ = 0;                         ///< since then, of that path
  std::optional<Clock::time_point> last_chance_;  ///< since when the last path has failed and not worked
  Clock::time_point last_tended_;                 ///< since then nobody has waited
  bool lead_silent_ = false;                      ///< the control channel does not reach the peer
  std::uint8_t last_look_path_ = kMaxRails - 1;
  std::array<Path, kMaxRails> paths_;
  std::array<Health, kMaxRails> health_;
  std::uint64_t scratch_ = 0;
  std::array<std::uint32_t, kMaxRails> scratch_keys_{};
  std::uint32_t references_ = 0;
  std::uint32_t probes_ = 0;  ///< in flight
  Clock::time_point last_look_;
  std::vector<Addressable*> watchers_;
};

}  // namespace weft::rdma
