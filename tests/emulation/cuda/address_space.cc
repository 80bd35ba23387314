#include "tests/emulation/cuda/address_space.h"

#include <iterator>

namespace weft::emulation {

void AddressSpace::add(const void* base, size_t size, MemoryKind kind, int device) {
  const auto address = reinterpret_cast<uintptr_t>(base);
  const std::lock_guard lock(mutex_);
  ranges_[address] = Range{address, size, kind, device, next_id_++};
}

std::optional<Range> AddressSpace::find(const void* address) {
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  const std::lock_guard lock(mutex_);
  const auto after = ranges_.upper_bound(wanted);
  if (after == ranges_.begin()) return std::nullopt;
  const Range& range = std::prev(after)->second;
  if (wanted - range.base >= range.size) return std::nullopt;
  return range;
}

std::optional<Range> AddressSpace::remove(const void* base, MemoryKind kind) {
  const std::lock_guard lock(mutex_);
  const auto found = ranges_.find(reinterpret_cast<uintptr_t>(base));
  if (found == ranges_.end() || found->second.kind != kind) return std::nullopt;
  const Range range = found->second;
  ranges_.erase(found);
  return range;
}

AddressSpace& address_space() {
  static auto& space = *new AddressSpace;  // used until the last handler of process exit
  return space;
}

}  // namespace weft::emulation
