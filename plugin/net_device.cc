#include "plugin/net_device.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace weft::plugin {

NetDevice::NetDevice(std::unique_ptr<Device> device)
    : own_(std::move(device)), parts_{own_.get()}, properties_(own_->properties()) {}

NetDevice::NetDevice(std::unique_ptr<Device> device, std::vector<int> members, std::string name)
    : NetDevice(std::move(device)) {
  properties_.members = std::move(members);
  properties_.name = std::move(name);
}

NetDevice::NetDevice(std::vector<Device*> parts, std::vector<int> members, std::string name)
    : parts_(std::move(parts)), properties_(parts_.front()->properties()) {
  properties_.members = std::move(members);
  properties_.name = std::move(name);
  // A registration is with the NIC of one connection.
  properties_.registration_is_global = false;
  for (std::size_t i = 1; i < parts_.size(); ++i) {
    const DeviceProperties& other = parts_[i]->properties();
    properties_.speed_mbps += other.speed_mbps;
    properties_.pointer_support &= other.pointer_support;
    properties_.max_message_bytes = std::min(properties_.max_message_bytes, other.max_message_bytes);
    properties_.max_comms = std::min(properties_.max_comms, other.max_comms);
    properties_.max_receives = std::min(properties_.max_receives, other.max_receives);
  }
}

std::vector<std::string> NetDevice::rail_names() const {
  std::vector<std::string> names;
  for (const fabric::Info* info : rail_infos()) names.push_back(info->domain());
  return names;
}

std::vector<const fabric::Info*> NetDevice::rail_infos() const {
  std::vector<const fabric::Info*> infos;
  for (Device* part : parts_) {
    for (const auto& rail : part->rails()) infos.push_back(&rail->info());
  }
  return infos;
}

Device& NetDevice::for_connector(std::span<const std::byte, kHandleBytes> handle) noexcept {
  // The listener's random number: it stays, while the rest of the handle notes how far the attempt has come.
  std::uint64_t nonce = 0;
  std::memcpy(&nonce, handle.data() + offsetof(ConnectHandle, nonce), sizeof nonce);
  return *parts_[nonce % parts_.size()];
}

}  // namespace weft::plugin
