// The connecting side of a connection, one step per call.
//
//   sending --request posted--> waiting --reply--> accepted | refused
//      any state --time limit, peer unreachable--> failed
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "transports/connection/device.h"
#include "transports/connection/registry.h"

namespace weft {

/// All of it wants the device's lock.
class Connector : public Addressable {
 public:
  /// What a transport sends along with the request, and keeps until the attempt ends.
  class Baggage {
   public:
    virtual ~Baggage() = default;
    /// For the listener's transport; at most kMaxPayloadBytes.
    virtual std::span<const std::byte> payload() const = 0;
  };
  using Pack = std::function<Result<std::unique_ptr<Baggage>>()>;

  /// The attempt that `handle` stands for: a new one for a fresh handle, else the one begun by an earlier call. The
  /// device owns it. `pack` is called only when the attempt begins; without it nothing is sent along.
  static Result<Connector*> find_or_begin(Device& device, std::span<std::byte, kHandleBytes> handle,
                                          const Pack& pack = {});
  Baggage* baggage() const noexcept { return baggage_.get(); }
  ~Connector() override;

  /// What the listener answered.
  struct Accepted {
    Peer* peer;  ///< with one reference, which belongs to the connector until it is destroyed
    Key receiver;
    ConnectReply reply;
  };

  /// One step. nullptr: call again later. An error ends the attempt; finish() must be called after either outcome.
  Result<const Accepted*> step();
  /// Forgets the attempt: destroys `connector`.
  static void finish(Device& device, Connector* connector) noexcept;

  /// Nobody has asked for this attempt since long after its time limit.
  bool is_abandoned(Clock::time_point now) const noexcept {
    return now > deadline_ + device_.options().connect_timeout;
  }

  bool on_connect_reply(const ConnectReply& reply) override;
  bool on_notice(const Notice& notice) override;
  void on_peer_failed(const Error& error) override;

 private:
  enum class State : std::uint8_t { kSending, kWaiting, kAccepted, kFailed };

  explicit Connector(Device& device) : device_(device) {}
  Status begin(const ConnectHandle& handle, const Pack& pack);
  void fail_with(Error error);

  Device& device_;
  Peer* peer_ = nullptr;
  State state_ = State::kSending;
  Clock::time_point started_;
  Clock::time_point deadline_;
  std::unique_ptr<Baggage> baggage_;
  ConnectRequest request_{};
  Accepted accepted_{};
  Error error_{};
};

}  // namespace weft
