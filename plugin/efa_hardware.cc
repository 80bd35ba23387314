#include "plugin/efa_hardware.h"

#include <fstream>

namespace weft::plugin {
namespace {

namespace fs = std::filesystem;

/// Amazon's PCI vendor number, and the device numbers of EFA adapters: 0xefa0 and up, one per generation
/// (Linux, drivers/infiniband/hw/efa/efa_main.c).
constexpr std::string_view kAmazon = "0x1d0f";
constexpr std::string_view kEfaDevices = "0xefa";

std::string first_word(const fs::path& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

int count_device_nodes(const fs::path& root) {
  int count = 0;
  std::error_code error;
  for (fs::directory_iterator entry(root / "dev/infiniband", error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().filename().string().starts_with("uverbs")) ++count;
  }
  return count;
}

}  // namespace

std::optional<EfaHardware> find_efa_hardware(const fs::path& root) {
  EfaHardware found;
  std::error_code error;
  for (fs::directory_iterator entry(root / "sys/bus/pci/devices", error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::path& device = entry->path();
    if (first_word(device / "vendor") != kAmazon || !first_word(device / "device").starts_with(kEfaDevices)) continue;
    ++found.functions;
    std::error_code no_driver;
    if (fs::read_symlink(device / "driver", no_driver).filename() == "efa") ++found.with_driver;
  }
  if (found.functions == 0) return {};
  found.device_nodes = count_device_nodes(root);
  return found;
}

std::string explain_unusable(const EfaHardware& hardware, const std::string& libfabric) {
  std::string text =
      "EFA hardware is present (" + std::to_string(hardware.functions) + " PCI functions) but unusable: ";
  if (hardware.with_driver == 0) {
    return text +
           "the kernel's efa driver is not loaded; load it (modprobe efa) or run Amazon's EFA installer on "
           "the host";
  }
  if (hardware.device_nodes == 0) {
    return text + "this process sees no /dev/infiniband/uverbs*; pass /dev/infiniband into the container";
  }
  return text + libfabric +
         " offers no efa provider; run Amazon's EFA installer, or set WEFT_LIBFABRIC to a libfabric "
         "that has it, and check with fi_info -p efa";
}

}  // namespace weft::plugin
