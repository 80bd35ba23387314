// One start of Weft in this process: the parameters, the library, the devices. Shared by all NCCL communicators.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "plugin/device_plan.h"
#include "plugin/net_device.h"
#include "transports/connection/device.h"
#include "transports/fabric/cuda_driver.h"
#include "transports/fabric/library.h"
#include "weft/params.h"
#include "weft/result.h"

namespace weft::plugin {

/// Devices that NCCL has asked to make one of, in the order of their indices. Without heap memory: what is in static
/// storage when the library is unloaded must not leak.
class Fusions {
 public:
  static constexpr std::size_t kMost = 32;  ///< a machine has up to 32 NICs

  bool is_full() const noexcept { return count_ == kMost; }
  void add(std::span<const int> members) noexcept {
    auto& entry = entries_[count_++];
    entry.count = static_cast<std::uint8_t>(members.size());
    std::ranges::copy(members, entry.members.begin());
  }
  void clear() noexcept { count_ = 0; }
  std::size_t size() const noexcept { return count_; }
  std::span<const int> operator[](std::size_t i) const noexcept {
    return std::span(entries_[i].members).first(entries_[i].count);
  }

 private:
  struct Entry {
    std::uint8_t count = 0;
    std::array<int, kMaxRails> members{};
  };
  std::array<Entry, kMost> entries_{};
  std::size_t count_ = 0;
};

/// Immutable once open but for fuse(), so any thread may read it. Destroying it closes the devices; what was made from
/// them must be gone by then.
class Instance {
 public:
  /// Reads the parameters, opens libfabric, chooses the NICs and opens them, and logs the banner. A NIC that cannot be
  /// opened is named in a warning and left out; an error if none is left. The error says what to do.
  /// `fusions`: devices to make of others, as fuse() does; one that cannot be made is an error.
  static Result<std::shared_ptr<Instance>> open(const Environment& environment, const Fusions& fusions = {});

  int device_count() const noexcept { return count_.load(std::memory_order_acquire); }
  /// kArgument for an index that is not a device's.
  Result<NetDevice*> device(int index) const;

  /// Makes one device of all NICs of `members`, which stay; returns its index, that of an earlier one if it is there.
  /// Calls must not overlap.
  Result<int> fuse(std::span<const int> members);
  /// Takes back the devices of `fusions` that open() made, unless device() or fuse() has been called since; says
  /// whether.
  bool forget_replayed() noexcept;

 private:
  explicit Instance(Params params) : params_(std::move(params)) {}

  Result<bool> wants_rdma() const;
  Status open_devices();
  /// With providers that can do `caps`, up to `most_rails` NICs to a device.
  Status open_devices(std::uint64_t caps, int most_rails);
  DeviceOptions device_options(const PlannedDevice& planned) const;
  /// One for members whose protocol can drive all rails at once, or with connections on one rail each in turn.
  Result<std::unique_ptr<NetDevice>> make_fused(std::span<const int> members) const;
  void add(std::unique_ptr<NetDevice> device);
  void log_banner(const fabric::Info& nic, const char* protocol) const;

  // In this order: devices use the library and the driver to their end.
  Params params_;
  std::optional<fabric::Library> library_;
  std::optional<fabric::CudaDriver> cuda_;
  std::vector<std::unique_ptr<NetDevice>> devices_;  ///< the first count_; the others are null, and room for later ones
  std::atomic<int> count_ = 0;
  mutable std::atomic<bool> is_used_ = false;
  int replayed_ = 0;  ///< how many of them, the last ones, open() made of others
};

}  // namespace weft::plugin
