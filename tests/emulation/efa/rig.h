#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/emulation/efa/shared_device.h"

namespace weft::emulation::efa {

// A rig seen from outside: its NICs' knobs and counters, while programs run on it. One rig per process at a time.
class Rig {
 public:
  // The rig of that domain; empty: the one of WEFT_LAB_EFA_DOMAIN.
  explicit Rig(std::string domain = "");

  // NICs that exist so far, in order of host and NIC.
  std::vector<SharedDevice*> nics() const;
  // A NIC, made when it does not exist yet: knobs can be set before a program opens it. nullptr: no room.
  SharedDevice* nic(uint32_t node, uint32_t nic) const;
  // Those that "NODE:NIC" names; * stands for all, "all" for *:*. One that is named in full is made if need be.
  std::vector<SharedDevice*> select(std::string_view selector) const;

  // Removes everything of the rig from shared memory. Programs that still run on it lose each other.
  void clean() const;
};

// A NIC's end and return: its work requests end with `status`, those of its peers with 13, until it is restored.
void fail(SharedDevice& nic, uint64_t status = 13);
void restore(SharedDevice& nic);

uint64_t sum(const std::vector<SharedDevice*>& nics, std::atomic<uint64_t> Counters::* counter);

}  // namespace weft::emulation::efa
