#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace weft::emulation {

// kMapped: device memory that is not of the process's arena (mapped from a descriptor, or from another process).
enum class MemoryKind { kDevice, kMapped, kPinnedHost, kRegisteredHost };

struct Range {
  uintptr_t base;
  size_t size;
  MemoryKind kind;
  int device;
  uint64_t id;  // never used twice in a process
};

// What CUDA knows about the process's addresses. Any thread.
class AddressSpace {
 public:
  void add(const void* base, size_t size, MemoryKind kind, int device);
  std::optional<Range> find(const void* address);
  // Takes out the range that begins there, if it is of this kind.
  std::optional<Range> remove(const void* base, MemoryKind kind);

 private:
  std::mutex mutex_;
  std::map<uintptr_t, Range> ranges_;
  uint64_t next_id_ = 1;
};

AddressSpace& address_space();

}  // namespace weft::emulation
