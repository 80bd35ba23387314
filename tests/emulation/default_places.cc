#include "tests/emulation/default_places.h"

#include <algorithm>
#include <bit>
#include <cstdio>

namespace weft::emulation {
namespace {

// On a host without GPUs.
constexpr unsigned kNicsPerSwitch = 4;
// Downstream ports of a switch: one for each bus that NICs use, from this one on those of GPUs.
constexpr unsigned kFirstGpuPort = 0x10;
constexpr unsigned kNicBuses = DefaultPlaces::kBusesPerGpu - 3;
// Of the ports above the switches. Not bus 0: block devices and others of the machine itself say that they are there.
constexpr unsigned kRootBus = DefaultPlaces::kFirstGpuBus - DefaultPlaces::kBusesPerGpu;

unsigned ceiling(unsigned dividend, unsigned divisor) { return (dividend + divisor - 1) / divisor; }

// A device below the switch whose buses begin with those of that GPU: the port above the switch, the switch's own port
// to it, the one to the device, and the device.
std::string below(unsigned first_gpu, unsigned port, unsigned bus, unsigned device) {
  const unsigned domain = DefaultPlaces::gpu_domain(first_gpu);
  const unsigned up = DefaultPlaces::gpu_bus(first_gpu) - DefaultPlaces::kBusesPerGpu + 1;
  const unsigned slot = first_gpu % DefaultPlaces::kGpusPerDomain + 1;
  char place[128];
  snprintf(place, sizeof place, "%04x:%02x:%02x.0/%04x:%02x:00.0/%04x:%02x:%02x.0/%04x:%02x:%02x.0", domain, kRootBus,
           slot, domain, up, domain, up + 1, port, domain, bus, device);
  return place;
}

}  // namespace

// A power of two: no switch reaches into the next domain.
unsigned DefaultPlaces::gpus_per_switch() const {
  if (nics == 0 || nics >= gpus) return 1;
  return std::min(kGpusPerDomain, std::bit_ceil(ceiling(gpus, nics)));
}

unsigned DefaultPlaces::switches() const {
  return gpus > 0 ? ceiling(gpus, gpus_per_switch()) : ceiling(nics, kNicsPerSwitch);
}

std::string DefaultPlaces::gpu(unsigned index) const {
  const unsigned place = index % gpus_per_switch();
  return below(index - place, kFirstGpuPort + place, gpu_bus(index), 0);
}

std::string DefaultPlaces::nic(unsigned index) const {
  const unsigned home = index * switches() / nics;
  const unsigned place = index - ceiling(home * nics, switches());
  const unsigned first_gpu = home * gpus_per_switch();
  const unsigned port = place % kNicBuses;
  return below(first_gpu, port, gpu_bus(first_gpu) - kNicBuses + port, place / kNicBuses);
}

}  // namespace weft::emulation
