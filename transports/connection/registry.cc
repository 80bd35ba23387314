#include "transports/connection/registry.h"

namespace weft {

Registry::Registry() {
  // Both halves: a 32-bit seed would make the nonces guessable.
  std::random_device device;
  std::seed_seq seed{device(), device(), device(), device(), device(), device(), device(), device()};
  random_.seed(seed);
}

Status Registry::add(Addressable& object) {
  if (objects_.size() >= kMaxIds) {
    return fail(Code::kUsage,
                "all " + std::to_string(kMaxIds) + " communicator ids of the device are in use; close some");
  }
  while (objects_.contains(next_id_)) next_id_ = (next_id_ + 1) % kMaxIds;
  const std::uint32_t id = next_id_;
  next_id_ = (next_id_ + 1) % kMaxIds;
  do {
    object.key_ = (random_() << kIdBits) | id;
  } while (object.key_ == 0);  // zero means "none" in a handle
  objects_.emplace(id, &object);
  return {};
}

void Registry::remove(Addressable& object) noexcept {
  const auto found = objects_.find(id_of(object.key_));
  if (found != objects_.end() && found->second == &object) objects_.erase(found);
  // The key stays readable: late log lines name it.
}

void Registry::transfer(Addressable& from, Addressable& to) noexcept {
  to.key_ = from.key_;
  from.key_ = 0;
  if (const auto found = objects_.find(id_of(to.key_)); found != objects_.end()) found->second = &to;
}

Addressable* Registry::find(Key key) const noexcept {
  const auto found = objects_.find(id_of(key));
  return found != objects_.end() && found->second->key_ == key ? found->second : nullptr;
}

}  // namespace weft
