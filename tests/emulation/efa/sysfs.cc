#include "tests/emulation/efa/sysfs.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "tests/emulation/efa/settings.h"

namespace weft::emulation::efa {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBridgeClass = "0x060400";
constexpr const char* kNetworkClass = "0x020000";
constexpr const char* kGpuClass = "0x030200";

// All errors show later, as a NIC that nobody finds.
void make_folder(const fs::path& path) {
  std::error_code ignored;
  fs::create_directories(path, ignored);
}
void link(const fs::path& target, const fs::path& name) {
  std::error_code ignored;
  fs::create_symlink(target, name, ignored);
}

// In one step: another process of the host may be reading.
void put(const fs::path& path, const std::string& text) {
  const fs::path written = path.string() + "." + std::to_string(getpid());
  std::ofstream(written) << text << '\n';
  std::error_code ignored;
  fs::rename(written, path, ignored);
}

fs::path root() { return settings().sysfs; }
fs::path sys() { return root() / "sys"; }

struct PciFiles {
  std::string device_class, vendor, device;
  int numa;
};

void put_device(const fs::path& folder, const PciFiles& files) {
  make_folder(folder);
  put(folder / "class", files.device_class);
  put(folder / "vendor", files.vendor);
  put(folder / "device", files.device);
  put(folder / "subsystem_vendor", files.vendor);
  put(folder / "subsystem_device", files.device);
  put(folder / "revision", "0x00");
  put(folder / "numa_node", std::to_string(files.numa));
  // Guess: PCIe 5.0 x16, as on the newest instances.
  put(folder / "current_link_speed", "32.0 GT/s PCIe");
  put(folder / "max_link_speed", "32.0 GT/s PCIe");
  put(folder / "current_link_width", "16");
  put(folder / "max_link_width", "16");
  link(folder, sys() / "bus/pci/devices" / folder.filename());
}

// Bus numbers of a bridge come from its configuration space: header type 1, primary, secondary, subordinate.
void put_bridge(const fs::path& folder, const std::string& child, int numa) {
  put_device(folder, {kBridgeClass, "0x1d0f", "0x0200", numa});
  unsigned domain = 0, bus = 0, child_bus = 0;
  sscanf(folder.filename().c_str(), "%x:%x", &domain, &bus);
  sscanf(child.c_str(), "%x:%x", &domain, &child_bus);
  std::string space(64, '\0');
  space[0] = 0x0f, space[1] = 0x1d, space[3] = 0x02;
  space[0x0a] = 0x04, space[0x0b] = 0x06;
  space[0x0e] = 1;
  space[0x18] = static_cast<char>(bus);
  space[0x19] = space[0x1a] = static_cast<char>(child_bus);
  std::ofstream(folder / "config", std::ios::binary) << space;
}

// The folder of the device at the end of a place, its bridges made.
fs::path put_place(const std::string& place, const PciFiles& files) {
  fs::path folder = sys() / "devices/pci0000:00";
  const fs::path parts = place;
  for (auto part = parts.begin(); part != parts.end(); ++part) {
    folder /= *part;
    make_folder(folder);
    if (const auto next = std::next(part); next != parts.end()) put_bridge(folder, next->string(), files.numa);
  }
  put_device(folder, files);
  return folder;
}

}  // namespace

std::string pci_address(const std::string& place) { return place.substr(place.rfind('/') + 1); }

std::string infiniband_folder(const std::string& nic) { return sys() / "class/infiniband" / nic; }

void write_sysfs() {
  const Settings& host = settings();
  for (const char* folder : {"class/infiniband_verbs", "class/infiniband", "bus/pci/drivers/efa", "bus/pci/devices"})
    make_folder(sys() / folder);
  // libfabric takes a machine without this file for one without RDMA devices.
  put(sys() / "class/infiniband_verbs/abi_version", "1");
  // The machine's own processors, for hwloc.
  link("/proc", root() / "proc");
  link("/sys/devices/system", sys() / "devices/system");
  char part[16];
  snprintf(part, sizeof part, "0x%x", host.part_id);
  for (uint32_t i = 0; i < host.nics; ++i) {
    const std::string name = "efa_" + std::to_string(i);
    const fs::path device = put_place(host.pci[i], {kNetworkClass, "0x1d0f", part, host.numa[i]});
    const fs::path infiniband = device / "infiniband" / name;
    make_folder(infiniband);
    link(sys() / "bus/pci/drivers/efa", device / "driver");
    link(device, infiniband / "device");
    link(infiniband, infiniband_folder(name));
  }
  // Guess: the ids of an H200.
  for (const std::string& place : host.gpu_pci) put_place(place, {kGpuClass, "0x10de", "0x2335", 0});
}

}  // namespace weft::emulation::efa
