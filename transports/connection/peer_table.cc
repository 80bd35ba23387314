#include "transports/connection/peer_table.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "weft/log.h"

namespace weft {
namespace {

std::string key_of(std::span<const std::byte> address) {
  return {reinterpret_cast<const char*>(address.data()), address.size()};
}

}  // namespace

Result<Peer*> PeerTable::acquire(std::span<const std::byte> address) {
  if (address.size() != address_size_) {
    return weft::fail(Code::kRemote,
                      "an address of " + std::to_string(address.size()) + " bytes is none of this provider's");
  }
  auto& slot = peers_[key_of(address)];
  Peer* predecessor = nullptr;
  if (slot && slot->failed_) {
    predecessor = slot.get();
    retired_.push_back(std::exchange(slot, nullptr));
  }
  if (!slot) {
    if (predecessor == nullptr) predecessor = owner_among_retired(address);
    // The provider may give one entry to both, so there is only one: it goes over to the successor.
    Result<fi_addr_t> inserted = FI_ADDR_UNSPEC;
    if (predecessor != nullptr) {
      predecessor->owns_address_ = false;
      inserted = predecessor->address_;
    } else {
      inserted = addresses_.insert(address);
    }
    if (!inserted) {
      peers_.erase(key_of(address));
      return std::unexpected(std::move(inserted).error());
    }
    slot = std::make_unique<Peer>();
    slot->address_ = *inserted;
    slot->bytes_.assign(address.begin(), address.end());
    slot->name_ = addresses_.text(address);
  }
  ++slot->references_;
  return slot.get();
}

Peer* PeerTable::owner_among_retired(std::span<const std::byte> address) noexcept {
  const auto owner = std::ranges::find_if(
      retired_, [address](const auto& entry) { return entry->owns_address_ && entry->has_address(address); });
  return owner != retired_.end() ? owner->get() : nullptr;
}

void PeerTable::release(Peer* peer) noexcept {
  if (--peer->references_ > 0 || (peer->established_ && !peer->failed_)) return;
  if (!closing_ && peer->owns_address_) {
    // Connections from before it may still live, over this address too: it goes back to them.
    const auto other = std::ranges::find_if(retired_, [peer](const auto& entry) {
      return entry.get() != peer && entry->address_ == peer->address_ && entry->bytes_ == peer->bytes_;
    });
    if (other != retired_.end()) {
      (*other)->owns_address_ = true;
    } else {
      addresses_.remove(peer->address_);
    }
  }
  std::erase_if(peers_, [peer](const auto& entry) { return entry.second.get() == peer; });
  std::erase_if(retired_, [peer](const auto& entry) { return entry.get() == peer; });
}

void PeerTable::set_name(Peer& peer, const char* host, std::uint32_t pid) {
  if (peer.named_) return;
  std::string clean = host;
  for (char& c : clean) {
    if (std::isgraph(static_cast<unsigned char>(c)) == 0) c = '?';
  }
  peer.name_ = "host " + clean + " pid " + std::to_string(pid) + " (" + peer.name_ + ")";
  peer.named_ = true;
}

void PeerTable::fail(Peer& peer, const Error& error) {
  if (peer.failed_) return;
  peer.failed_ = true;
  if (peer.watchers_.empty()) return;
  WEFT_WARN("%s", error.what.c_str());
  Error told = error;
  told.logged = true;
  // A watcher may stop watching while it is told.
  const auto watchers = peer.watchers_;
  for (Addressable* watcher : watchers) watcher->on_peer_failed(told);
}

Error PeerTable::unreachable(const Peer& peer, const Rail& rail, int error, const char* detail) {
  std::string what = "peer " + peer.name() + " cannot be reached from " + rail.name() + ": " +
                     rail.library().strerror(error) + " (" + std::to_string(error) + ")";
  if (detail[0] != '\0') what += std::string(", ") + detail;
  return {Code::kRemote, error,
          what +
              ". Its process may have ended or its node may be gone: look at that host's log first; if it is alive, "
              "check security groups and routes between the two"};
}

}  // namespace weft
