#include "tests/emulation/efa/peers.h"

#include <map>
#include <mutex>
#include <string>

#include "tests/emulation/efa/settings.h"

namespace weft::emulation::efa {
namespace {

struct Mappings {
  std::mutex mutex;
  std::map<Gid, SharedDevice*> devices;
  std::map<std::string, void*> queues;
};

// Never destroyed: the wire thread outlives main().
Mappings& mappings() {
  static auto& all = *new Mappings;
  return all;
}

void* queue(const char* kind, uint64_t id) {
  const std::string name = kind + std::to_string(id);
  Mappings& known = mappings();
  const std::lock_guard guard(known.mutex);
  if (const auto found = known.queues.find(name); found != known.queues.end()) return found->second;
  void* mapped = map_shared(name, 0, false);
  if (mapped != nullptr) known.queues[name] = mapped;
  return mapped;
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

ReceiveQueue* peer_receives(uint64_t id) { return static_cast<ReceiveQueue*>(queue("r", id)); }
CompletionRing* peer_completions(uint64_t id) { return static_cast<CompletionRing*>(queue("c", id)); }

}  // namespace weft::emulation::efa
