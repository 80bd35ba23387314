// getProperties, for every version of the ABI: the versions differ in which fields there are.
#pragma once

#include <algorithm>
#include <climits>
#include <cstdint>
#include <iterator>
#include <span>
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
    constexpr std::size_t kMost = std::size(decltype(to.vProps.devs){});
    if (!from.members.empty() && from.members.size() <= kMost) {
      to.vProps.ndevs = static_cast<int>(from.members.size());
      std::ranges::copy(from.members, to.vProps.devs);
    }
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
    TRY(const NetDevice* const device, instance->device(dev));
    fill_properties(device->properties(), dev, *properties);
    return {};
  });
}

/// NCCL makes one device of several: `props` names them, *d gets the new one's index.
template <class VProps>
nccl::ncclResult_t make_vdevice(int* d, VProps* props) noexcept {
  return guard("makeVDevice", [&]() -> Status {
    if (d == nullptr || props == nullptr) return fail(Code::kArgument, "d or props is null");
    const int most = static_cast<int>(std::size(props->devs));
    if (props->ndevs < 1 || props->ndevs > most) {
      return fail(Code::kArgument, std::to_string(props->ndevs) + " devices in one; 1 to " + std::to_string(most) +
                                       " are possible in this version");
    }
    TRY(*d, Plugin::get().fuse(std::span<const int>(props->devs, static_cast<std::size_t>(props->ndevs))));
    return {};
  });
}

}  // namespace weft::plugin
