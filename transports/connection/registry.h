// The table of everything in this process that a control message can be addressed to.
#pragma once

#include <cstdint>
#include <random>
#include <unordered_map>

#include "weft/result.h"
#include "weft/wire.h"

namespace weft {

class Peer;
struct MemoryHandle;

/// A listener, a connection attempt or a communicator. Called with the device's lock held, never on the data path. A
/// message that an object does not expect is refused by returning false; the caller counts and logs it.
class Addressable {
 public:
  Addressable() = default;
  Addressable(const Addressable&) = delete;
  Addressable& operator=(const Addressable&) = delete;
  virtual ~Addressable() = default;

  Key key() const noexcept { return key_; }

  virtual Verdict on_connect_request(const ConnectRequest&) { return Verdict::kUnknownListener; }
  virtual bool on_connect_reply(const ConnectReply&) { return false; }
  virtual bool on_notice(const Notice&) { return false; }
  /// A control message of this object could not be delivered, or the peer was found to be gone.
  virtual void on_peer_failed(const Error& error) = 0;
  /// True when the provider holds no operation of this object any more, so that it may be destroyed.
  virtual bool is_idle() const noexcept { return true; }
  /// The memory behind a handle is about to be deregistered: ends what can be ended. Handles are only compared.
  virtual void withdraw(const MemoryHandle*) noexcept {}
  /// What it could not end is still under way, and it is worth waiting for.
  virtual bool uses(const MemoryHandle*) const noexcept { return false; }

 private:
  friend class Registry;
  Key key_ = 0;
};

/// Not thread safe: callers hold the device's lock.
class Registry {
 public:
  Registry();

  /// Gives `object` a key. Ids are handed out in turn and come round again only after all others have been used, so
  /// that a message to a closed communicator does not find a new one. Fails when all 1,048,576 are taken.
  Status add(Addressable& object);
  void remove(Addressable& object) noexcept;
  /// `to` takes over the key of `from`, which has none afterwards: a connection attempt becomes a communicator.
  void transfer(Addressable& from, Addressable& to) noexcept;
  /// nullptr when there is no such object (any more).
  Addressable* find(Key key) const noexcept;
  /// Calls `visit` for every object; it must not add or remove any.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& [id, object] : objects_) visit(*object);
  }
  std::size_t size() const noexcept { return objects_.size(); }

  std::uint64_t random() { return random_(); }

 private:
  std::unordered_map<std::uint32_t, Addressable*> objects_;
  std::uint32_t next_id_ = 0;
  std::mt19937_64 random_;
};

}  // namespace weft
