// What NCCL sees as one NIC: a device of Weft's, or several that NCCL has made one (makeVDevice).
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "transports/connection/device.h"
#include "weft/device_properties.h"
#include "weft/wire.h"

namespace weft::plugin {

/// Thread safe.
class NetDevice {
 public:
  explicit NetDevice(std::unique_ptr<Device> device);
  /// A device of its own, over all rails of `members`, the indices of devices that NCCL sees besides.
  NetDevice(std::unique_ptr<Device> device, std::vector<int> members, std::string name);
  /// For transports whose connections have one rail each: `parts` take connections in turn, and must outlive this.
  NetDevice(std::vector<Device*> parts, std::vector<int> members, std::string name);

  const DeviceProperties& properties() const noexcept { return properties_; }
  std::vector<std::string> rail_names() const;
  std::vector<const fabric::Info*> rail_infos() const;

  /// The device for the next listener.
  Device& for_listener() noexcept { return *parts_[next_.fetch_add(1, std::memory_order_relaxed) % parts_.size()]; }
  /// The device to connect from; the same in every call with one handle.
  Device& for_connector(std::span<const std::byte, kHandleBytes> handle) noexcept;
  const std::vector<Device*>& parts() const noexcept { return parts_; }

 private:
  std::unique_ptr<Device> own_;  ///< null: the parts are others'
  std::vector<Device*> parts_;
  DeviceProperties properties_;
  std::atomic<std::size_t> next_ = 0;
};

}  // namespace weft::plugin
