// getProperties, for every version of the ABI: the versions differ in which fields there are.
#pragma once

#include <algorithm>
#include <climits>
#include <cstdint>
#include <string>

#include "plugin/boundary.h"
#include "plugin/plugin.h"
#include "weft/device_properties.h"

namespace weft::plugin {

/// What NCCL uses for plugins that cannot say it: 1 GiB, the largest power of two that an int holds.
inline constexpr std::size_t kMaxAbiTransferBytes = std::size_t{1} << 30;
static_assert(kMaxAbiTransferBytes <= INT_MAX && kMaxAbiTransferBytes <= nccl::kNetMaxSizeBytes);

/// Fills the ABI's struct. Its texts point into `from`, which lives as long as the device.
template <class Properties>
void fill_properties(const DeviceProperties& from, int dev, Properties& to) {
  to = {};
  // NCCL declares them writable and never writes.
  to.name = const_cast<char*>(from.name.c_str());
  to.pciPath = from.pci_path.empty() ? nullptr : const_cast<char*>(from.pci_path.c_str());
  to.guid = from.guid;
  to.ptrSupport = from.pointer_support;
  to.speed = from.speed_mbps;
  to.port = from.port;
  to.latency = from.latency_us;
  to.maxComms = from.max_comms;
  to.maxRecvs = from.max_receives;
  if constexpr (requires { to.netDeviceType; }) {
    to.netDeviceType = nccl::NCCL_NET_DEVICE_HOST;
    to.netDeviceVersion = nccl::kNetDeviceInvalidVersion;
  }
  if constexpr (requires { to.regIsGlobal; }) to.regIsGlobal = from.registration_is_global ? 1 : 0;
  if constexpr (requires { to.forceFlush; }) to.forceFlush = from.force_flush ? 1 : 0;
  if constexpr (requires { to.vProps; }) {
    to.vProps.ndevs = 1;
    to.vProps.devs[0] = dev;
  }
  if constexpr (requires { to.maxP2pBytes; }) {
    to.maxP2pBytes = to.maxCollBytes = std::clamp<std::size_t>(from.max_message_bytes, 1, kMaxAbiTransferBytes);
  }
  if constexpr (requires { to.maxMultiRequestSize; }) to.maxMultiRequestSize = 1;
  if constexpr (requires { to.railId; }) {
    to.railId = static_cast<std::int16_t>(from.rail_id);
    to.planeId = static_cast<std::int16_t>(from.plane_id);
  }
}

template <class Properties>
nccl::ncclResult_t get_properties(int dev, Properties* properties) noexcept {
  return guard("getProperties", [&]() -> Status {
    if (properties == nullptr) return fail(Code::kArgument, "props is null");
    *properties = {};
    TRY(const auto instance, Plugin::get().current());
    TRY(const Device* const device, instance->device(dev));
    fill_properties(device->properties(), dev, *properties);
    return {};
  });
}

}  // namespace weft::plugin
