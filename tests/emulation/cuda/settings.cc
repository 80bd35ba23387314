#include "tests/emulation/cuda/settings.h"

#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "tests/emulation/cuda/log.h"
#include "tests/emulation/default_places.h"

namespace weft::emulation {
namespace {

long number(const char* name, long fallback) {
  const char* text = getenv(name);
  return text != nullptr ? strtol(text, nullptr, 10) : fallback;
}

std::vector<PciAddress> gpus_of_host() {
  std::vector<PciAddress> gpus;
  if (const char* list = getenv("WEFT_LAB_CUDA_PCI")) {
    std::stringstream stream(list);
    for (std::string item; std::getline(stream, item, ',');) {
      PciAddress address;
      // The bridges above it come first.
      if (parse_pci_address(item.c_str() + item.rfind('/') + 1, &address))
        gpus.push_back(address);
      else
        log(0, "WEFT_LAB_CUDA_PCI: %s is no PCI address", item.c_str());
    }
  }
  const auto count =
      static_cast<size_t>(number("WEFT_LAB_CUDA_DEVICES", gpus.empty() ? 1 : static_cast<long>(gpus.size())));
  for (auto i = static_cast<unsigned>(gpus.size()); i < count; ++i)
    gpus.push_back({DefaultPlaces::gpu_domain(i), DefaultPlaces::gpu_bus(i), 0});
  gpus.resize(count);
  return gpus;
}

// CUDA's rule: the list ends at the first entry that is no index of a GPU.
std::vector<int> visible_of(int count) {
  std::vector<int> visible;
  const char* list = getenv("CUDA_VISIBLE_DEVICES");
  if (list == nullptr) {
    for (int i = 0; i < count; ++i) visible.push_back(i);
    return visible;
  }
  while (*list != '\0') {
    char* end = nullptr;
    const long index = strtol(list, &end, 10);
    if (end == list || index < 0 || index >= count) break;
    visible.push_back(static_cast<int>(index));
    list = *end == ',' ? end + 1 : end;
  }
  return visible;
}

}  // namespace

std::string PciAddress::text() const {
  char text[32];
  snprintf(text, sizeof text, "%04x:%02x:%02x.0", domain, bus, device);
  return text;
}

bool parse_pci_address(const char* text, PciAddress* address) {
  PciAddress parsed;
  unsigned function = 0;
  if (sscanf(text, "%x:%x:%x.%x", &parsed.domain, &parsed.bus, &parsed.device, &function) < 3) return false;
  *address = parsed;
  return true;
}

const Settings& settings() {
  // Never destroyed: NCCL still calls in from handlers of process exit.
  static const Settings& settings = *[] {
    auto* read = new Settings;
    read->gpus = gpus_of_host();
    read->visible = visible_of(static_cast<int>(read->gpus.size()));
    read->memory = static_cast<size_t>(number("WEFT_LAB_CUDA_MEM_MB", 16384)) << 20;
    read->gpu_direct = number("WEFT_LAB_CUDA_GDR", 1) != 0;
    read->dma_buf = number("WEFT_LAB_CUDA_DMABUF", 1) != 0;
    return read;
  }();
  return settings;
}

}  // namespace weft::emulation
