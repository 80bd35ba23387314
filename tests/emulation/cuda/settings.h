#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace weft::emulation {

struct PciAddress {
  unsigned domain = 0, bus = 0, device = 0;

  // As CUDA and NVML write it: 0000:10:00.0.
  std::string text() const;
  bool operator==(const PciAddress&) const = default;
};

bool parse_pci_address(const char* text, PciAddress* address);

// The machine that is emulated, read from the environment once per process.
//   WEFT_LAB_CUDA_DEVICES  GPUs of the host (1)
//   WEFT_LAB_CUDA_PCI      their PCI addresses, separated by commas, each with or without the bridges above it before
//                          it: 0000:10:01.0/0000:11:00.0 (those of default_places.h)
//   WEFT_LAB_CUDA_MEM_MB   memory of each (16384); only what is touched is used
//   WEFT_LAB_CUDA_GDR      whether NICs may access it (1)
//   WEFT_LAB_CUDA_DMABUF   whether it can be exported as a dma-buf (1)
//   CUDA_VISIBLE_DEVICES   as on a real driver
struct Settings {
  std::vector<PciAddress> gpus;  // all of the host, as NVML sees them
  std::vector<int> visible;      // indexes of those that CUDA sees, in its order
  size_t memory = 0;
  bool gpu_direct = true;
  bool dma_buf = true;
};

const Settings& settings();

}  // namespace weft::emulation
