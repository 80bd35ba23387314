#include "transports/fabric/info.h"

#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace weft::fabric {
namespace {

std::string text(const char* raw) { return raw != nullptr ? raw : ""; }

std::string canonical(const std::string& path) {
  std::error_code error;
  const auto real = std::filesystem::canonical(path, error);
  return error ? std::string() : real.string();
}

/// The kernel's figure for a network interface, -1 or an error where it has none (loopback, virtual devices).
int interface_speed(const std::string& interface) {
  std::ifstream file("/sys/class/net/" + interface + "/speed");
  int mbps = 0;
  return file >> mbps && mbps > 0 ? mbps : 0;
}

}  // namespace

std::string Info::provider() const { return raw_->fabric_attr != nullptr ? text(raw_->fabric_attr->prov_name) : ""; }
std::string Info::domain() const { return raw_->domain_attr != nullptr ? text(raw_->domain_attr->name) : ""; }
std::string Info::fabric() const { return raw_->fabric_attr != nullptr ? text(raw_->fabric_attr->name) : ""; }

int Info::address_family() const {
  switch (raw_->addr_format) {
    case FI_SOCKADDR_IN: return AF_INET;
    case FI_SOCKADDR_IN6: return AF_INET6;
    case FI_SOCKADDR: return raw_->src_addr != nullptr ? static_cast<const sockaddr*>(raw_->src_addr)->sa_family : 0;
    default: return 0;
  }
}

int Info::speed_mbps() const {
  if (raw_->nic != nullptr && raw_->nic->link_attr != nullptr && raw_->nic->link_attr->speed > 0) {
    return static_cast<int>(raw_->nic->link_attr->speed / 1'000'000);
  }
  return interface_speed(domain());
}

std::string Info::pci_path() const {
  if (raw_->nic != nullptr && raw_->nic->bus_attr != nullptr && raw_->nic->bus_attr->bus_type == FI_BUS_PCI) {
    const auto& pci = raw_->nic->bus_attr->attr.pci;
    char address[32];
    std::snprintf(address, sizeof address, "%04x:%02x:%02x.%x", pci.domain_id, pci.bus_id, pci.device_id,
                  pci.function_id);
    return canonical(std::string("/sys/bus/pci/devices/") + address);
  }
  return pci_function(canonical("/sys/class/net/" + domain() + "/device"));
}

std::string pci_function(std::string path) {
  // "0000:00:03.0": domain, bus, device, function.
  static constexpr std::string_view kShape = "xxxx:xx:xx.x";
  const auto fits = [](std::string_view name) {
    return std::ranges::equal(name, kShape, [](char have, char wanted) {
      return wanted == 'x' ? std::isxdigit(static_cast<unsigned char>(have)) != 0 : have == wanted;
    });
  };
  while (!path.empty()) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return {};
    if (fits(std::string_view(path).substr(slash + 1))) return path;
    path.resize(slash);
  }
  return path;
}

}  // namespace weft::fabric
