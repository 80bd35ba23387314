#include "tests/emulation/efa/peers.h"

#include <map>
#include <mutex>
#include <string>
#include <unordered_map>

#include "tests/emulation/efa/settings.h"

namespace weft::emulation::efa {
namespace {

struct Mappings {
  std::mutex mutex;
  std::map<Gid, SharedDevice*> devices;
  std::unordered_map<uint64_t, void*> receives, completions;  // by id
};

// Never destroyed: the wire thread outlives main().
Mappings& mappings() {
  static auto& all = *new Mappings;
  return all;
}

// Looked up for every arrival.
template <class Queue>
Queue* find_or_map(std::unordered_map<uint64_t, void*>& known, const char* kind, uint64_t id) {
  const std::lock_guard guard(mappings().mutex);
  if (const auto found = known.find(id); found != known.end()) return static_cast<Queue*>(found->second);
  void* mapped = map_shared(kind + std::to_string(id), 0, false);
  if (mapped != nullptr) known[id] = mapped;
  return static_cast<Queue*>(mapped);
}

SharedDevice* device(const Gid& gid, bool create) {
  Mappings& known = mappings();
  const std::lock_guard guard(known.mutex);
  if (const auto found = known.devices.find(gid); found != known.devices.end()) return found->second;
  bool created = false;
  SharedDevice* mapped = map_device(gid, create, &created);
  if (mapped == nullptr) return nullptr;
  if (created) set_knobs(*mapped, settings().knobs);
  known.devices[gid] = mapped;
  return mapped;
}

}  // namespace

SharedDevice* peer_device(const Gid& gid) { return device(gid, false); }

SharedDevice* open_own_device(const Gid& gid) {
  SharedDevice* own = device(gid, true);
  if (own != nullptr) own->reap_dead();
  return own;
}

ReceiveQueue* peer_receives(uint64_t id) { return find_or_map<ReceiveQueue>(mappings().receives, "r", id); }
CompletionRing* peer_completions(uint64_t id) { return find_or_map<CompletionRing>(mappings().completions, "c", id); }

}  // namespace weft::emulation::efa
