#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "tests/emulation/efa/knobs.h"
#include "tests/emulation/efa/shared_memory.h"

namespace weft::emulation::efa {

using Gid = std::array<uint8_t, 16>;

constexpr uint32_t kMaxQueuePairs = 1024;        // a power of two: number = generation * kMaxQueuePairs + slot, 16 bits
constexpr uint32_t kMaxMemoryRegions = 1 << 16;  // key = generation << 16 | slot, 24 bits
constexpr uint32_t kMaxAddressHandles = 4096;
constexpr uint16_t kNoAddressHandle = 0xffff;
constexpr uint32_t kMaxSegments = 2;

struct QueuePairSlot {
  std::atomic<uint32_t> state;  // 0: free, else ibv_qp_state + 1; written last, read first
  uint32_t number, qkey, domain;
  pid_t pid;
  uint32_t unsolicited, datagram;
  uint64_t receives, completions;  // ids of the shared objects of the receiving side
  uint32_t generation;
};

struct MemoryRegionSlot {
  std::atomic<uint32_t> key;  // 0: free; written last, read first and last
  uint32_t generation;
  pid_t pid;
  uint32_t domain, access;
  uint64_t iova, length, address;
};

struct AddressHandleSlot {
  std::atomic<uint32_t> users;
  Gid gid;
};

// One NIC as all processes of the rig see it. Peers read its tables as a NIC at the other end of the wire would know
// them; only processes of the same host write there.
struct SharedDevice {
  std::atomic<uint32_t> magic;
  Gid gid;
  uint32_t node, nic;
  SharedLock lock;  // for the allocation of slots
  Knobs knobs;
  Counters counters;
  std::atomic<uint64_t> send_link_free_ns, receive_link_free_ns;  // when the capped link is free again
  uint32_t queue_pair_hint, memory_region_hint;
  std::atomic<uint32_t> address_handles_used;  // slots ever used; those above are zero
  QueuePairSlot queue_pairs[kMaxQueuePairs];
  AddressHandleSlot address_handles[kMaxAddressHandles];
  MemoryRegionSlot memory_regions[kMaxMemoryRegions];

  QueuePairSlot& queue_pair(uint32_t number) { return queue_pairs[number & (kMaxQueuePairs - 1)]; }
  // The address handle of this NIC for that peer, or kNoAddressHandle.
  uint16_t find_address_handle(const Gid& peer) const;
  // Where [address, address + length) of a region lies in the memory of its process; 0 when the key, the owner, the
  // protection domain, the rights or the bounds do not fit.
  uint64_t resolve(uint32_t key, uint64_t address, uint64_t length, uint32_t rights, uint32_t domain, pid_t pid) const;
  // Frees what processes that were killed left behind.
  void reap_dead();
};

Gid gid_of(uint32_t node, uint32_t nic);
std::string hex(const Gid& gid);

// With `create`, makes the NIC that is not there. nullptr: not there, or of another build of the emulator.
SharedDevice* map_device(const Gid& gid, bool create, bool* created = nullptr);

// "knob=value,2:knob=value": sets knobs of one NIC; those with a number before the colon only if it is that NIC's.
// Returns false, and says so, when one does not exist.
bool set_knobs(SharedDevice& device, const std::string& list);

}  // namespace weft::emulation::efa
