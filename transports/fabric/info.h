// One offer of a provider: which NIC, with which limits.
#pragma once

#include <rdma/fabric.h>

#include <memory>
#include <string>

#include "transports/fabric/library.h"

namespace weft::fabric {

/// Owns an fi_info (and the list behind it, if it heads one). Move only; thread safe to read.
class Info {
 public:
  Info(const Functions& functions, fi_info* raw) : raw_(raw, functions.freeinfo) {}

  fi_info* get() const { return raw_.get(); }

  std::string provider() const;  ///< "efa", "tcp;ofi_rxm", ...
  std::string domain() const;    ///< NIC or interface: "rdmap85s0-rdm", "eth0"
  std::string fabric() const;    ///< network: "efa", "efa-direct", "192.0.2.0/24"
  /// AF_INET, AF_INET6, or 0 where addresses are not socket addresses.
  int address_family() const;
  /// Speed of the link in Mb/s; 0 where neither the provider nor the kernel says.
  int speed_mbps() const;
  /// Canonical sysfs path of the PCI function behind the NIC; empty where there is none.
  std::string pci_path() const;

 private:
  std::unique_ptr<fi_info, void (*)(fi_info*)> raw_;
};

/// The PCI function that a device in sysfs belongs to: the nearest folder at or above `path` named like one
/// ("0000:00:03.0"; virtio devices stand below theirs). Empty where there is none.
std::string pci_function(std::string path);

}  // namespace weft::fabric
