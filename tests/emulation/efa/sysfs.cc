#include "tests/emulation/efa/sysfs.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>
#include <vector>

#include "tests/emulation/efa/settings.h"

namespace weft::emulation::efa {
namespace {

namespace fs = std::filesystem;

// All errors show later, as a NIC that nobody finds.
void make_folder(const fs::path& path) {
  std::error_code ignored;
  fs::create_directories(path, ignored);
}

// Relative, as the kernel's are: it leads to the same file for all who see the tree, wherever that is for them.
void link(const fs::path& target, const fs::path& name) {
  std::error_code ignored;
  fs::create_symlink(target.lexically_relative(name.parent_path()), name, ignored);
}
// To what is the machine's own.
void link_outside(const fs::path& target, const fs::path& name) {
  std::error_code ignored;
  fs::create_symlink(target, name, ignored);
}

// In one step: another process of the host may be reading.
void put_bytes(const fs::path& path, const std::string& bytes) {
  fs::path written = path;
  written += '.' + std::to_string(getpid());
  std::ofstream(written, std::ios::binary) << bytes;
  std::error_code ignored;
  fs::rename(written, path, ignored);
}
void put(const fs::path& path, std::string text) { put_bytes(path, text += '\n'); }

fs::path sys() { return fs::path(settings().sysfs) / "sys"; }

// What the files of a device say.
struct Card {
  const char *device_class, *vendor, *device, *subsystem, *link_speed;
};
// Guess: a switch of PCIe 5.0, as on the newest instances. NCCL knows the vendor 0x1000 and asks more of it.
constexpr Card kBridge{"0x060400", "0x1d0f", "0x0200", "0x0200", "32.0 GT/s PCIe"};
// What the emulated CUDA and NVML say of a GPU.
constexpr Card kGpu{"0x030200", "0x10de", "0x20b0", "0x134f", "16.0 GT/s PCIe"};

struct Place {
  std::vector<std::string> parts;  // addresses; the last is the device's, all before are bridges
  int numa = 0;
};

Place parse_place(const std::string& text, int numa) {
  Place place{{}, numa};
  for (const fs::path& part : fs::path(text)) place.parts.push_back(part.string());
  if (place.parts.empty()) place.parts.emplace_back("0000:00:00.0");
  return place;
}

// Of an address: 0000:10 of 0000:10:01.0.
std::string bus_of(const std::string& address) { return address.substr(0, address.find(':', address.find(':') + 1)); }
unsigned bus_number(const std::string& address) {
  unsigned domain = 0, bus = 0;
  sscanf(address.c_str(), "%x:%x", &domain, &bus);
  return bus;
}

// The processors near a device are those of its node; of the first node where the machine has no such node.
std::string processors(int numa, const char* file) {
  for (const int node : {numa, 0}) {
    std::string line;
    std::ifstream stream("/sys/devices/system/node/node" + std::to_string(node) + "/" + file);
    if (std::getline(stream, line)) return line;
  }
  return {};
}

class PciTree {
 public:
  // All that will stand in the tree: a bridge must know all buses below it.
  explicit PciTree(const std::vector<Place>& places) {
    for (const Place& place : places)
      for (size_t bridge = 0; bridge + 1 < place.parts.size(); ++bridge)
        for (size_t below = bridge + 1; below < place.parts.size(); ++below)
          reach(place.parts[bridge], bus_number(place.parts[below]));
  }

  // The folder of the device at the end of a place, its bridges made.
  fs::path add(const Place& place, const Card& card) {
    fs::path folder = sys() / "devices";
    folder /= "pci" + bus_of(place.parts.front());
    for (size_t i = 0; i < place.parts.size(); ++i) {
      const std::string& address = place.parts[i];
      put_bus(folder, bus_of(address));
      folder /= address;
      put_device(folder, i + 1 < place.parts.size() ? kBridge : card, place.numa);
      if (i + 1 < place.parts.size()) put_bytes(folder / "config", bridge_config(address));
    }
    return folder;
  }

 private:
  struct Buses {
    unsigned first = 0xff, last = 0;
  };

  void reach(const std::string& bridge, unsigned bus) {
    Buses& buses = below_[bridge];
    buses.first = std::min(buses.first, bus);
    buses.last = std::max(buses.last, bus);
  }

  // NCCL finds a device through its bus: class/pci_bus/BUS/../../ADDRESS.
  static void put_bus(const fs::path& bridge, const std::string& bus) {
    const fs::path folder = bridge / "pci_bus" / bus;
    make_folder(folder);
    link(folder, sys() / "class/pci_bus" / bus);
  }

  static void put_device(const fs::path& folder, const Card& card, int numa) {
    make_folder(folder);
    put(folder / "class", card.device_class);
    put(folder / "vendor", card.vendor);
    put(folder / "device", card.device);
    put(folder / "subsystem_vendor", card.vendor);
    put(folder / "subsystem_device", card.subsystem);
    put(folder / "revision", "0x00");
    put(folder / "numa_node", std::to_string(numa));
    put(folder / "local_cpus", processors(numa, "cpumap"));
    put(folder / "local_cpulist", processors(numa, "cpulist"));
    for (const char* which : {"current", "max"}) {
      put(folder / (std::string(which) + "_link_speed"), card.link_speed);
      put(folder / (std::string(which) + "_link_width"), "16");
    }
    link(sys() / "bus/pci", folder / "subsystem");
    link(folder, sys() / "bus/pci/devices" / folder.filename());
  }

  // hwloc takes the bus numbers of a bridge from its configuration space: header type 1, primary, secondary,
  // subordinate.
  std::string bridge_config(const std::string& address) const {
    const Buses& buses = below_.at(address);
    std::string space(64, '\0');
    space[0] = 0x0f, space[1] = 0x1d, space[3] = 0x02;
    space[0x0a] = 0x04, space[0x0b] = 0x06;
    space[0x0e] = 1;
    space[0x18] = static_cast<char>(bus_number(address));
    space[0x19] = static_cast<char>(buses.first);
    space[0x1a] = static_cast<char>(buses.last);
    return space;
  }

  std::map<std::string, Buses> below_;
};

void put_nic(PciTree& tree, const Place& place, uint32_t index) {
  char part[16];
  snprintf(part, sizeof part, "0x%x", settings().part_id);
  // Guess: PCIe 5.0, as on the newest instances.
  const fs::path device = tree.add(place, {"0x020000", "0x1d0f", part, part, "32.0 GT/s PCIe"});
  std::string name = "efa_";
  name += std::to_string(index);
  const fs::path infiniband = device / "infiniband" / name;
  make_folder(infiniband);
  link(sys() / "bus/pci/drivers/efa", device / "driver");
  link(device, infiniband / "device");
  link(infiniband, sys() / "class/infiniband" / name);
}

void write_sysfs() {
  const Settings& host = settings();
  for (const char* folder :
       {"class/infiniband_verbs", "class/infiniband", "class/pci_bus", "bus/pci/drivers/efa", "bus/pci/devices"})
    make_folder(sys() / folder);
  // libfabric takes a machine without this file for one without RDMA devices.
  put(sys() / "class/infiniband_verbs/abi_version", "1");
  if (!host.product.empty()) {
    make_folder(sys() / "devices/virtual/dmi/id");
    put(sys() / "devices/virtual/dmi/id/product_name", host.product);
  }
  // The machine's own processors, for hwloc with HWLOC_FSROOT.
  link_outside("/proc", fs::path(host.sysfs) / "proc");
  link_outside("/sys/devices/system", sys() / "devices/system");

  std::vector<Place> places;
  for (uint32_t i = 0; i < host.nics; ++i) places.push_back(parse_place(host.pci[i], host.numa[i]));
  for (const std::string& gpu : host.gpu_pci) {
    Place place = parse_place(gpu, 0);
    // A GPU is on the node of the NICs below the same switch, on the first one where there are none.
    const auto nic = std::ranges::find_if(places, [&](const Place& other) {
      return other.parts.size() > 1 && other.parts.front() == place.parts.front();
    });
    if (nic != places.end()) place.numa = nic->numa;
    places.push_back(std::move(place));
  }
  PciTree tree(places);
  for (uint32_t i = 0; i < places.size(); ++i) {
    if (i < host.nics)
      put_nic(tree, places[i], i);
    else
      tree.add(places[i], kGpu);
  }
}

}  // namespace

const std::string& sysfs_root() {
  // Never destroyed: programs read files until their very end.
  static const std::string& root = *[] {
    write_sysfs();
    std::error_code ignored;
    return new std::string(fs::canonical(settings().sysfs, ignored));
  }();
  return root;
}

}  // namespace weft::emulation::efa
