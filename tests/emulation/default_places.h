#pragma once

#include <string>

namespace weft::emulation {

// Where the GPUs and NICs of a host stand when nobody says. Every GPU is below a switch, together with its share of the
// NICs; where NICs are few, some GPUs share one. Bus numbers below a switch follow one another, as a kernel hands them
// out. Guess: the GPUs' bus numbers are those of a p5.48xlarge, whose own files do not show the switches.
struct DefaultPlaces {
  static constexpr unsigned kGpusPerDomain = 8, kFirstGpuBus = 0x53, kBusesPerGpu = 0x11;

  unsigned nics = 0, gpus = 0;

  static constexpr unsigned gpu_domain(unsigned gpu) { return gpu / kGpusPerDomain; }
  static constexpr unsigned gpu_bus(unsigned gpu) { return kFirstGpuBus + gpu % kGpusPerDomain * kBusesPerGpu; }

  // Addresses, bridges first: 0000:42:01.0/0000:43:00.0/0000:44:10.0/0000:53:00.0.
  std::string gpu(unsigned index) const;
  std::string nic(unsigned index) const;

 private:
  unsigned gpus_per_switch() const;
  unsigned switches() const;
};

}  // namespace weft::emulation
