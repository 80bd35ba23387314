// The processes this device talks to: one entry each, however many communicators there are.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "transports/connection/peer_check.h"
#include "transports/connection/rail.h"
#include "transports/connection/registry.h"
#include "transports/fabric/address_vector.h"

namespace weft {

/// One remote process on one NIC. Owned by the table, shared by reference count.
class Peer {
 public:
  fi_addr_t address() const noexcept { return address_; }
  /// "10.0.0.7:4711" or "host ip-10-0-0-7 pid 4711 (10.0.0.7:4711)" once the peer has said who it is.
  const std::string& name() const noexcept { return name_; }
  bool failed() const noexcept { return failed_; }
  bool has_address(std::span<const std::byte> address) const noexcept { return std::ranges::equal(bytes_, address); }
  /// Control messages to this peer that the provider has not finished with.
  std::uint32_t control_sends() const noexcept { return control_sends_; }

 private:
  friend class PeerTable;
  friend class ControlChannel;
  std::uint32_t control_sends_ = 0;
  bool owns_address_ = true;  ///< false once a successor at the same address has taken it over
  PeerCheck check_;
  fi_addr_t address_ = FI_ADDR_UNSPEC;
  std::string name_;
  bool named_ = false;
  bool failed_ = false;
  bool established_ = false;
  std::uint32_t references_ = 0;
  std::vector<std::byte> bytes_;  ///< the address, as the peer gave it
  std::vector<Addressable*> watchers_;
};

/// Not thread safe: callers hold the device's lock.
class PeerTable {
 public:
  explicit PeerTable(fabric::AddressVector& addresses) : addresses_(addresses) {}

  /// All addresses of a provider have the size of our own; others are refused before the provider sees them.
  void set_address_size(std::size_t size) noexcept { address_size_ = size; }

  /// The entry for `address`, made if it is new or the old one has failed, with one reference more.
  Result<Peer*> acquire(std::span<const std::byte> address);
  void retain(Peer& peer) noexcept { ++peer.references_; }
  /// Gives a reference back. An entry that nobody uses is kept for the next connection if it has ever carried one
  /// and has not failed; otherwise it goes, so that strangers cannot fill the address vector.
  void release(Peer* peer) noexcept;

  /// Host and process, as the peer says them; shown in every message about it. Unprintable characters are replaced.
  void set_name(Peer& peer, const char* host, std::uint32_t pid);
  void set_established(Peer& peer) noexcept { peer.established_ = true; }

  /// `watcher` hears when the peer fails.
  void watch(Peer& peer, Addressable& watcher) { peer.watchers_.push_back(&watcher); }
  void unwatch(Peer& peer, Addressable& watcher) noexcept { std::erase(peer.watchers_, &watcher); }

  /// The peer cannot be reached any more: logs it and tells everybody who watches it, once; where nobody
  /// does, nobody needs to know. A new connection to the
  /// same address starts afresh: the process may have been restarted.
  void fail(Peer& peer, const Error& error);

  /// The endpoint is gone: from now on entries are dropped without touching the address vector, which some providers
  /// cannot change any more then.
  void start_closing() noexcept { closing_ = true; }
  bool closing() const noexcept { return closing_; }

  /// The error for a peer that cannot be reached: names it, the NIC, the reason (`detail`: the provider's
  /// words, may be empty) and what to check.
  static Error unreachable(const Peer& peer, const Rail& rail, int error, const char* detail);

  std::size_t size() const noexcept { return peers_.size(); }

 private:
  /// The failed entry that an address has gone back to.
  Peer* owner_among_retired(std::span<const std::byte> address) noexcept;

  fabric::AddressVector& addresses_;
  std::unordered_map<std::string, std::unique_ptr<Peer>> peers_;
  std::size_t address_size_ = 0;
  bool closing_ = false;
  std::vector<std::unique_ptr<Peer>> retired_;  ///< failed, but still named by somebody
};

}  // namespace weft
