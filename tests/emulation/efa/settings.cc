#include "tests/emulation/efa/settings.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "tests/emulation/default_places.h"
#include "tests/emulation/efa/shared_memory.h"

namespace weft::emulation::efa {
namespace {

std::string text(const char* name, const std::string& fallback) {
  const char* value = getenv(name);
  return value != nullptr && *value != '\0' ? value : fallback;
}

template <class T>
void read_number(const char* name, T* value) {
  const char* given = getenv(name);
  if (given != nullptr && *given != '\0') *value = static_cast<T>(strtoull(given, nullptr, 0));
}

std::vector<std::string> list(const char* name) {
  std::vector<std::string> items;
  std::stringstream stream(text(name, ""));
  for (std::string item; std::getline(stream, item, ',');) items.push_back(item);
  return items;
}

Settings* read_settings() {
  auto* read = new Settings;
  set_domain(text("WEFT_LAB_EFA_DOMAIN", "default"));
  read_number("WEFT_LAB_EFA_NICS", &read->nics);
  read_number(text("WEFT_LAB_NODE_VARIABLE", "WEFT_LAB_NODE").c_str(), &read->node);
  read_number("WEFT_LAB_EFA_SEED", &read->seed);
  read_number("WEFT_LAB_EFA_PART_ID", &read->part_id);
  read_number("WEFT_LAB_EFA_CAPS", &read->capabilities);
  read_number("WEFT_LAB_EFA_MTU", &read->mtu);
  read_number("WEFT_LAB_EFA_MAX_SQ", &read->max_sends);
  read_number("WEFT_LAB_EFA_MAX_RQ", &read->max_receives);
  read_number("WEFT_LAB_EFA_MAX_CQE", &read->max_completions);
  read_number("WEFT_LAB_EFA_MAX_RDMA", &read->max_rdma);
  read_number("WEFT_LAB_EFA_IN_ORDER", &read->in_order);
  read_number("WEFT_LAB_EFA_STRICT_AH", &read->strict_address_handles);
  read->knobs = text("WEFT_LAB_EFA_KNOBS", "");
  read->product = text("WEFT_LAB_EFA_PRODUCT", "");
  read->sysfs = text("WEFT_LAB_EFA_SYSFS", "/dev/shm" + shared_name("sysfs." + std::to_string(read->node)));
  read->gpu_pci = list("WEFT_LAB_CUDA_PCI");
  auto gpus = static_cast<uint32_t>(read->gpu_pci.size());
  read_number("WEFT_LAB_CUDA_DEVICES", &gpus);
  read->gpu_pci.resize(std::min<size_t>(read->gpu_pci.size(), gpus));
  const DefaultPlaces places{read->nics, gpus};
  for (auto i = static_cast<unsigned>(read->gpu_pci.size()); i < gpus; ++i) read->gpu_pci.push_back(places.gpu(i));
  read->pci = list("WEFT_LAB_EFA_PCI");
  for (auto i = static_cast<unsigned>(read->pci.size()); i < read->nics; ++i) read->pci.push_back(places.nic(i));
  for (const std::string& item : list("WEFT_LAB_EFA_NUMA")) read->numa.push_back(atoi(item.c_str()));
  read->numa.resize(read->nics);
  return read;
}

}  // namespace

const Settings& settings() {
  // Never destroyed: libraries still call in from handlers of process exit.
  static const Settings& settings = *read_settings();
  return settings;
}

}  // namespace weft::emulation::efa
