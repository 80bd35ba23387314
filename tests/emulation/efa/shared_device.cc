#include "tests/emulation/efa/shared_device.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <sstream>

namespace weft::emulation::efa {
namespace {

constexpr uint32_t kLayout = 0x57ef0001;  // raise it with every change of the layout
constexpr int kCreationPatienceMs = 1000;

bool is_dead(pid_t pid) { return kill(pid, 0) != 0 && errno == ESRCH; }

}  // namespace

uint16_t SharedDevice::find_address_handle(const Gid& peer) const {
  const uint32_t used = address_handles_used.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < used; ++i) {
    if (address_handles[i].users.load(std::memory_order_acquire) != 0 && address_handles[i].gid == peer)
      return static_cast<uint16_t>(i);
  }
  return kNoAddressHandle;
}

uint64_t SharedDevice::resolve(uint32_t key, uint64_t address, uint64_t length, uint32_t rights, uint32_t domain,
                               pid_t pid) const {
  const MemoryRegionSlot& region = memory_regions[key & (kMaxMemoryRegions - 1)];
  if (key == 0 || region.key.load(std::memory_order_acquire) != key) return 0;
  if (region.pid != pid || region.domain != domain || (region.access & rights) != rights) return 0;
  if (address < region.iova || length > region.length || address - region.iova > region.length - length) return 0;
  const uint64_t at = region.address + (address - region.iova);
  return region.key.load(std::memory_order_acquire) == key ? at : 0;
}

void SharedDevice::reap_dead() {
  const std::lock_guard guard(lock);
  for (QueuePairSlot& slot : queue_pairs) {
    if (slot.state == 0 || !is_dead(slot.pid)) continue;
    unlink_shared("r" + std::to_string(slot.receives));
    unlink_shared("c" + std::to_string(slot.completions));
    slot.state = 0;
  }
  for (MemoryRegionSlot& slot : memory_regions) {
    if (slot.key != 0 && is_dead(slot.pid)) slot.key = 0;
  }
}

Gid gid_of(uint32_t node, uint32_t nic) {
  Gid gid{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0xef, 0xae};
  gid[12] = static_cast<uint8_t>(node >> 8);
  gid[13] = static_cast<uint8_t>(node);
  gid[14] = static_cast<uint8_t>((nic + 1) >> 8);
  gid[15] = static_cast<uint8_t>(nic + 1);
  return gid;
}

std::string hex(const Gid& gid) {
  std::string text;
  for (const uint8_t byte : gid) {
    char digits[3];
    snprintf(digits, sizeof digits, "%02x", byte);
    text += digits;
  }
  return text;
}

SharedDevice* map_device(const Gid& gid, bool create, bool* created) {
  bool made = false;
  auto* device = static_cast<SharedDevice*>(map_shared(hex(gid), sizeof(SharedDevice), create, &made));
  if (device == nullptr) return nullptr;
  if (made) {
    device->gid = gid;
    device->node = static_cast<uint32_t>(gid[12] << 8 | gid[13]);
    device->nic = static_cast<uint32_t>((gid[14] << 8 | gid[15]) - 1);
    device->lock.init();
    for (const KnobName& knob : kKnobs) device->knobs.*knob.field = knob.initial;
    device->magic.store(kLayout, std::memory_order_release);
  }
  for (int i = 0; device->magic.load(std::memory_order_acquire) != kLayout; ++i) {
    if (i == kCreationPatienceMs) {
      fprintf(stderr, "weft-efa: %s is of another build: weft-efactl clean\n", shared_name(hex(gid)).c_str());
      munmap(device, sizeof(SharedDevice));
      return nullptr;
    }
    usleep(1000);
  }
  if (created != nullptr) *created = made;
  return device;
}

bool set_knobs(SharedDevice& device, const std::string& list) {
  std::stringstream stream(list);
  for (std::string item; std::getline(stream, item, ',');) {
    if (const size_t colon = item.find(':'); colon != std::string::npos) {
      if (strtoul(item.c_str(), nullptr, 10) != device.nic) continue;
      item.erase(0, colon + 1);
    }
    const size_t equals = item.find('=');
    bool known = false;
    for (const KnobName& knob : kKnobs) {
      if (equals == std::string::npos || item.substr(0, equals) != knob.name) continue;
      device.knobs.*knob.field = strtoull(item.c_str() + equals + 1, nullptr, 0);
      known = true;
    }
    if (!known) {
      fprintf(stderr, "weft-efa: \"%s\" sets no knob: weft-efactl help lists them\n", item.c_str());
      return false;
    }
  }
  return true;
}

}  // namespace weft::emulation::efa
