// The accepting side of a connection.
//
//   listening --request with the right nonce--> requested --accept() sends the reply--> accepted
//
// A listener serves one connection, as NCCL uses it: a second request with the same handle is a replay and is refused.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "transports/connection/device.h"
#include "transports/connection/registry.h"

namespace weft {

class Listener : public Addressable {
 public:
  /// Takes the device's lock.
  static Result<std::unique_ptr<Listener>> open(Device& device, std::span<std::byte, kHandleBytes> handle);
  /// Takes the device's lock.
  ~Listener() override;

  Device& device() const noexcept { return device_; }

  /// What the peer asked for. Valid until reply() succeeds.
  struct Pending {
    Peer* peer;
    ConnectRequest request;
  };

  // The rest wants the device's lock.

  /// The connection that waits to be accepted, nullptr while there is none, or an error: the time limit has passed,
  /// the peer has vanished, or the listener has been used already.
  Result<const Pending*> pending();
  /// The communicator that a transport has made for the pending connection, while reply() must be tried again.
  std::unique_ptr<Addressable>& prepared() noexcept { return prepared_; }
  /// Accepts: tells the peer which communicator receives. Again: call later; nothing has changed.
  PostStatus reply(Key receiver, std::span<const std::byte> payload);

  Verdict on_connect_request(const ConnectRequest& request) override;
  void on_peer_failed(const Error& error) override;

 private:
  explicit Listener(Device& device) : device_(device) {}

  Device& device_;
  std::uint64_t nonce_ = 0;
  Key used_by_ = 0;  ///< the connector that the listener has served or serves
  std::optional<Pending> pending_;
  std::unique_ptr<Addressable> prepared_;
  std::optional<Error> failed_;
  std::optional<Clock::time_point> deadline_;  ///< set by the first accept: before it nobody waits
};

}  // namespace weft
