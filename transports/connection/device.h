// A device: what NCCL sees as one NIC. It owns the rails, the peers, the control channel and the registrations that
// all its communicators share, and the one lock that the data path takes.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "transports/connection/control_channel.h"
#include "transports/connection/mr_cache.h"
#include "transports/connection/peer_table.h"
#include "transports/connection/rail.h"
#include "transports/connection/registry.h"
#include "transports/fabric/cuda_driver.h"
#include "weft/device_properties.h"
#include "weft/result.h"
#include "weft/spin_lock.h"
#include "weft/wire.h"

namespace weft {

class Connector;

using Clock = std::chrono::steady_clock;

/// What the user and the transport decide about a device; see the parameter table for the user's part.
struct DeviceOptions {
  TransportId transport = TransportId::kSendRecv;
  std::uint64_t memory_access = 0;  ///< FI_SEND | FI_RECV, ...: what registrations must allow
  int max_receives = 1;             ///< largest grouped receive
  std::size_t cq_entries = 0;       ///< 0: the provider's default
  bool mr_cache = true;
  std::chrono::milliseconds connect_timeout{120'000};
  std::chrono::milliseconds peer_check{1'000};      ///< how often a waiting request makes sure its peer is there
  std::chrono::milliseconds stall_warning{60'000};  ///< 0: never
  const fabric::CudaDriver* cuda = nullptr;         ///< null: host memory only; must outlive the device
  std::uint64_t guid = 0;                           ///< of the lead's card
  float latency_us = 0;                             ///< what the user is told; 0: unknown
  int rail_id = -1;                                 ///< the same on hosts that are built alike; -1: unknown
  int rail_mbps = 0;  ///< what each NIC is known to do; counts where the provider or kernel says less
};

/// Thread safe where a function says so; everything else wants lock() held. Destroying a device ends all operations;
/// communicators and listeners made from it must have been closed before.
class Device {
 public:
  /// Opens the NIC that `info` describes. `library` must outlive the device.
  static Result<std::unique_ptr<Device>> open(const fabric::Library& library, const fabric::Info& info,
                                              const DeviceOptions& options) {
    const fabric::Info* const one = &info;
    return open(library, std::span(&one, 1), options);
  }
  /// The same for up to kMaxRails NICs of one provider, the lead first: it carries the control messages, and its name
  /// is the device's.
  static Result<std::unique_ptr<Device>> open(const fabric::Library& library,
                                              std::span<const fabric::Info* const> infos, const DeviceOptions& options);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// Thread safe; never changes.
  const DeviceProperties& properties() const noexcept { return properties_; }
  const DeviceOptions& options() const noexcept { return options_; }
  const std::string& name() const noexcept { return properties_.name; }

  /// Thread safe. See MrCache::acquire and release; `dmabuf_fd` below zero means plain memory.
  Result<MemoryHandle*> register_memory(void* data, std::size_t size, int pointer_kind, int dmabuf_fd = -1,
                                        std::uint64_t dmabuf_offset = 0);
  Status deregister_memory(MemoryHandle* memory);
  /// How many deregistrations there have been. Wants the lock; while it is held none goes on to free its memory.
  std::uint32_t deregistrations() const noexcept { return deregistrations_; }
  /// True if host memory at `data` is registered. Not for the data path.
  bool holds(const void* data, std::size_t size) const noexcept { return memory_.holds(data, size); }

  SpinLock& lock() noexcept { return lock_; }

  /// The lead rail.
  Rail& rail() noexcept { return *lead_; }
  std::span<const std::unique_ptr<Rail>> rails() noexcept { return rails_; }
  std::vector<const fabric::Domain*> domains() const;
  PeerTable& peers() noexcept { return peers_; }
  Registry& registry() noexcept { return registry_; }
  ControlChannel& control() noexcept { return *control_; }
  const std::vector<std::byte>& address() const noexcept { return address_; }

  /// Connection attempts, which live here because NCCL keeps no object of ours between calls of connect().
  std::vector<std::unique_ptr<Connector>>& connectors() noexcept { return connectors_; }

  /// The completion queue itself failed; nothing on this device can be trusted any more. Fails every communicator.
  [[gnu::cold]] void queue_failed(int error) noexcept;
  /// Why the device is lost, if it is; nothing new can be made on it.
  const std::optional<Error>& lost() const noexcept { return lost_; }
  /// A failed completion that the provider does not attribute to any operation.
  [[gnu::cold]] void unowned_error(const fabric::CompletionError& error) noexcept;

  /// What a transport keeps per device. It lives until the endpoints have been closed.
  class Part {
   public:
    virtual ~Part() = default;
  };
  void attach(std::unique_ptr<Part> part) noexcept { part_ = std::move(part); }
  Part* part() const noexcept { return part_.get(); }

  /// Takes a closed communicator whose operations have not all ended; it is destroyed when they have.
  void keep_until_idle(std::unique_ptr<Addressable> object) { closing_.push_back(std::move(object)); }
  /// Destroys what has become idle. Called from set-up and close paths.
  void sweep() noexcept;
  std::size_t closing_count() const noexcept { return closing_.size(); }
  /// Calls `visit` for everything that may have operations in flight; it must not add or remove any.
  template <class Visit>
  void for_each(Visit visit) const {
    registry_.for_each(visit);
    for (const auto& object : closing_) visit(*object);
  }

 private:
  Device(const DeviceOptions& options, std::vector<std::unique_ptr<Rail>> rails);
  Status prepare();

  DeviceOptions options_;
  DeviceProperties properties_;
  SpinLock lock_;
  std::vector<std::unique_ptr<Rail>> rails_;
  Rail* lead_;  ///< the first: the data path has no instruction to spare
  std::vector<std::byte> address_;
  Registry registry_;
  PeerTable peers_;
  std::unique_ptr<ControlChannel> control_;
  MrCache memory_;
  std::unique_ptr<Part> part_;
  std::vector<std::unique_ptr<Connector>> connectors_;
  std::vector<std::unique_ptr<Addressable>> closing_;
  std::uint64_t unowned_errors_ = 0;
  std::uint32_t deregistrations_ = 0;
  std::optional<Error> lost_;
};

/// This host's name, for messages to and about peers.
std::string local_host_name();

}  // namespace weft
