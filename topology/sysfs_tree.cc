#include "topology/sysfs_tree.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace weft::topology {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<unsigned long> hexadecimal(const fs::path& path) {
  std::ifstream file(path);
  unsigned long value = 0;
  if (!(file >> std::hex >> value)) return {};
  return value;
}

struct PciLink {
  double transfers = 0;  ///< GT/s of a lane; 0: unknown
  double lanes = 0;
};

/// "32.0 GT/s PCIe" and "16"; "Unknown", "0" and "255" are the kernel's words for what it does not know.
PciLink best_link(const fs::path& device) {
  PciLink link;
  std::istringstream(first_line(device / "max_link_speed")) >> link.transfers;
  std::istringstream(first_line(device / "max_link_width")) >> link.lanes;
  if (link.lanes >= 255) link.lanes = 0;
  return link;
}

/// The best rate of the link above a device, in Gb/s: the slower of its two ends counts, in speed and in width. 0 where
/// the device's own is unknown.
double link_gbps(const fs::path& folder) {
  PciLink link = best_link(folder);
  std::error_code error;
  const fs::path real = fs::canonical(folder, error);
  if (!error) {
    const PciLink port = best_link(real.parent_path());
    if (port.transfers > 0) link.transfers = std::min(link.transfers, port.transfers);
    if (port.lanes > 0) link.lanes = std::min(link.lanes, port.lanes);
  }
  return link.transfers * link.lanes;
}

/// The first entry of a folder whose name begins with `start`; empty without one.
std::string entry_of(const fs::path& folder, std::string_view start = "") {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (std::string name = entry->path().filename().string(); name.starts_with(start)) names.push_back(std::move(name));
  }
  return names.empty() ? std::string() : *std::ranges::min_element(names);
}

/// Four groups of four digits, "0200:00ff:fe00:0001".
std::uint64_t parse_guid(std::string text) {
  std::erase(text, ':');
  std::uint64_t guid = 0;
  std::istringstream stream(text);
  return stream >> std::hex >> guid ? guid : 0;
}

/// "100 Gb/sec (4X EDR)".
int parse_rate(const std::string& text) {
  double gbps = 0;
  std::istringstream(text) >> gbps;
  return static_cast<int>(std::lround(gbps * 1000));
}

/// "pci0000:10": a host bridge.
std::optional<PciAddress> parse_host_bridge(std::string_view name) {
  if (!name.starts_with("pci")) return {};
  return PciAddress::parse(std::string(name.substr(3)) + ":00.0");
}

class Reader {
 public:
  explicit Reader(const fs::path& root) : root_(root) {}

  Tree read() {
    tree_.instance_type = product_name(root_);
    const fs::path devices = root_ / "sys/bus/pci/devices";
    std::error_code error;
    fs::directory_iterator entry(devices, error);
    if (error) {
      tree_.oddities.push_back(devices.string() + " cannot be read (" + error.message() +
                               "): the places of GPUs and NICs are not known. In a container, show it /sys");
      return std::move(tree_);
    }
    std::vector<fs::path> folders;
    for (; !error && entry != fs::directory_iterator(); entry.increment(error)) folders.push_back(entry->path());
    std::ranges::sort(folders);
    for (const fs::path& folder : folders) add(folder);
    tree_.put_in_order();
    return std::move(tree_);
  }

 private:
  void add(const fs::path& folder) {
    const auto vendor = hexadecimal(folder / "vendor"), device = hexadecimal(folder / "device"),
               pci_class = hexadecimal(folder / "class");
    if (!vendor || !device || !pci_class) {
      tree_.oddities.push_back("PCI device " + folder.filename().string() +
                               " says neither class nor numbers: left out");
      return;
    }
    Node node;
    node.vendor = static_cast<std::uint16_t>(*vendor);
    node.device = static_cast<std::uint16_t>(*device);
    node.pci_class = static_cast<std::uint32_t>(*pci_class);
    const auto kind = kind_of_device(node.vendor, node.device, node.pci_class);
    const auto address = PciAddress::parse(folder.filename().string());
    if (!kind) return;
    if (!address) {
      tree_.oddities.push_back("\"" + folder.filename().string() + "\" is no PCI address: left out");
      return;
    }
    node.kind = *kind;
    node.address = *address;
    std::error_code error;
    const fs::path real = fs::canonical(folder, error);
    if (error) {
      tree_.oddities.push_back("the path of PCI device " + address->text() + " cannot be followed (" + error.message() +
                               "): its switch is not known");
    }
    node.parent = bridges_above(real, folder);
    describe(node, root_);
    tree_.nodes.push_back(std::move(node));
  }

  /// The node that a device hangs on: all bridges in its path are made where they are not there yet.
  int bridges_above(const fs::path& path, const fs::path& device) {
    int above = -1;
    for (const fs::path& part : path.parent_path()) {
      const std::string name = part.string();
      if (const auto host = parse_host_bridge(name)) {
        Node node;
        node.kind = Kind::kHostBridge;
        node.address = *host;
        above = made(name, above, node, device);
      } else if (const auto address = PciAddress::parse(name); address && above >= 0) {
        Node node;
        node.kind = Kind::kBridge;
        node.address = *address;
        const fs::path folder = root_ / "sys/bus/pci/devices" / name;
        node.vendor = static_cast<std::uint16_t>(hexadecimal(folder / "vendor").value_or(0));
        node.device = static_cast<std::uint16_t>(hexadecimal(folder / "device").value_or(0));
        node.pci_class = static_cast<std::uint32_t>(hexadecimal(folder / "class").value_or(0));
        describe(node, root_);
        above = made(name, above, node, device);
      }
    }
    return above >= 0 ? above : numa_node(device);
  }

  int made(const std::string& name, int above, Node& node, const fs::path& device) {
    const auto known = bridges_.find(name);
    if (known != bridges_.end()) return known->second;
    node.parent = above >= 0 ? above : numa_node(device);
    tree_.nodes.push_back(std::move(node));
    return bridges_[name] = static_cast<int>(tree_.nodes.size()) - 1;
  }

  /// The NUMA node that `device` names; the machine itself where it names none (-1, as in many virtual machines).
  int numa_node(const fs::path& device) {
    int number = -1;
    std::istringstream(first_line(device / "numa_node")) >> number;
    return number < 0 ? 0 : tree_.numa_node(number);
  }

  const fs::path& root_;
  Tree tree_;
  std::map<std::string, int> bridges_;
};

/// Amazon's accelerators: Inferentia 2, Trainium 1 and 2 (aws-neuron-driver, neuron_pci.c).
constexpr std::array<std::uint16_t, 3> kNeuronDevices = {0x7264, 0x7164, 0x7364};

}  // namespace

std::optional<Kind> kind_of_device(std::uint16_t vendor, std::uint16_t device, std::uint32_t pci_class) noexcept {
  constexpr std::uint32_t kNetwork = 0x02, kVga = 0x0300, k3d = 0x0302;  // PCI's own code list
  if (pci_class >> 16 == kNetwork) return Kind::kNic;
  // Only NVIDIA's: every server has some VGA adapter for its console.
  if (vendor == kNvidiaVendor && (pci_class >> 8 == kVga || pci_class >> 8 == k3d)) return Kind::kGpu;
  if (vendor == kAmazonVendor && std::ranges::find(kNeuronDevices, device) != kNeuronDevices.end()) return Kind::kGpu;
  return {};
}

namespace {

/// False only where /sys names the device's file and it is not there.
bool has_file(const fs::path& root, const std::string& file) {
  std::error_code error;
  return file.empty() || fs::exists(root / "dev" / file, error);
}

void describe_nic(Node& nic, const fs::path& folder, const fs::path& root) {
  std::error_code error;
  const fs::path driver = fs::read_symlink(folder / "driver", error);
  if (!error) nic.driver = driver.filename().string();
  std::string name = entry_of(folder / "infiniband");
  if (!name.empty()) {
    const fs::path rdma = folder / "infiniband" / name;
    if (const auto guid = parse_guid(first_line(rdma / "node_guid"))) nic.node_guid = guid;
    if (const int rate = parse_rate(first_line(rdma / "ports/1/rate"))) nic.speed_mbps = rate;
    const std::string verbs = entry_of(folder / "infiniband_verbs");
    nic.is_withheld = !verbs.empty() && !has_file(root, "infiniband/" + verbs);
  } else {
    name = entry_of(folder / "net");
    // A virtio function's interface stands one level below.
    if (const std::string below = entry_of(folder, "virtio"); name.empty() && !below.empty()) {
      name = entry_of(folder / below / "net");
    }
  }
  if (!name.empty()) nic.name = std::move(name);
  if (nic.name.empty()) nic.name = nic.address.text();
}

/// NVIDIA's driver says which of its files a GPU has.
void describe_gpu(Node& gpu, const fs::path& root) {
  std::ifstream file(root / "proc/driver/nvidia/gpus" / gpu.address.text() / "information");
  constexpr std::string_view kMinor = "Device Minor:";
  for (std::string line; std::getline(file, line);) {
    int minor = -1;
    if (!line.starts_with(kMinor)) continue;
    if (std::istringstream(line.substr(kMinor.size())) >> minor) {
      gpu.is_withheld = !has_file(root, "nvidia" + std::to_string(minor));
    }
  }
}

}  // namespace

void describe(Node& node, const fs::path& root) {
  if (node.kind != Kind::kBridge && node.kind != Kind::kGpu && node.kind != Kind::kNic) return;
  const fs::path folder = root / "sys/bus/pci/devices" / node.address.text();
  if (const double best = link_gbps(folder); best > 0) node.link_gbps = best;
  if (node.kind == Kind::kNic) describe_nic(node, folder, root);
  if (node.kind == Kind::kGpu) describe_gpu(node, root);
}

std::string product_name(const fs::path& root) { return first_line(root / "sys/devices/virtual/dmi/id/product_name"); }

Tree read_sysfs(const fs::path& root) { return Reader(root).read(); }

}  // namespace weft::topology
