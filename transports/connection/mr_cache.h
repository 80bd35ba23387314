// Live memory registrations of one device, shared by everybody who registers the same memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "transports/connection/interval_index.h"
#include "transports/fabric/cuda_driver.h"
#include "transports/fabric/domain.h"
#include "transports/fabric/memory_region.h"
#include "weft/device_properties.h"
#include "weft/result.h"

namespace weft {

inline constexpr std::size_t kMaxRails = 8;

/// A registration on the device's rails, one region each, in their order.
struct RailRegions {
  std::vector<fabric::MemoryRegion> regions;
  // The same regions' remote keys (their low 32 bits) and descriptors, side by side for the data path.
  std::array<std::uint32_t, kMaxRails> keys{};
  std::array<void*, kMaxRails> descriptors{};

  /// Registers on every one of up to kMaxRails domains; an error of any is everybody's.
  static Result<RailRegions> open(std::span<const fabric::Domain* const> domains, const fabric::MemoryRequest& request,
                                  std::uint64_t access);
};

/// What NCCL holds as its mhandle: one per acquire(), so that a second release of the same one can be told from the
/// release of another holder's. Does not change while it lives: the data path reads it without a lock.
struct MemoryHandle {
  void* descriptor = nullptr;  ///< for local operations on the lead rail; null where the provider needs none
  std::byte* data = nullptr;   ///< as given to acquire()
  std::size_t size = 0;
  int pointer_kind = kPointerHost;
  int cuda_device = -1;  ///< ordinal of the GPU that owns the memory; -1 for host memory
  /// The registration, for remote keys and the other rails' descriptors; null where the provider needs none.
  const RailRegions* rails = nullptr;
  /// The address that remote operations count from: 0, or where the registration begins if the provider wants offsets.
  std::uintptr_t remote_origin = 0;

  /// True if [pointer, pointer + bytes) lies inside.
  bool contains(const void* pointer, std::size_t bytes) const noexcept {
    const auto begin = reinterpret_cast<std::uintptr_t>(data);
    const auto from = reinterpret_cast<std::uintptr_t>(pointer);
    // Before the beginning, the difference is larger than any size.
    return bytes <= size && from - begin <= size - bytes;
  }
};

/// Reference counted registrations. A range inside one that is live is served by it, without a call of the provider. A
/// registration ends with its last handle, at once: memory that nobody holds may be freed and its address mapped anew,
/// and a registration kept beyond that would name pages that are no longer there.
///
/// Thread safe. One mutex is held through a registration too: threads that ask for the same range get one registration,
/// and the kernel serialises registrations of one process anyhow. Not for the data path.
class MrCache {
 public:
  struct Stats {
    std::uint64_t hits = 0;    ///< acquires served by a live registration
    std::uint64_t misses = 0;  ///< acquires that called the provider, failed calls included
    std::size_t live = 0;      ///< registrations held
    std::size_t handles = 0;   ///< handles held, those without a registration included
  };

  /// `domain` and `cuda` (null: no GPU) must outlive the cache. `enabled` false: every acquire() registers anew.
  /// `access`: FI_SEND | FI_RECV, FI_REMOTE_WRITE, ...: what every registration allows.
  MrCache(const fabric::Domain& domain, bool enabled, const fabric::CudaDriver* cuda, std::uint64_t access)
      : MrCache(std::vector<const fabric::Domain*>{&domain}, enabled, cuda, access) {}
  /// The same for a device of several rails: every registration is made on all of `domains`.
  MrCache(std::vector<const fabric::Domain*> domains, bool enabled, const fabric::CudaDriver* cuda,
          std::uint64_t access);
  /// Handles still held die with the cache; that is a bug of their holder and is logged.
  ~MrCache();
  MrCache(const MrCache&) = delete;
  MrCache& operator=(const MrCache&) = delete;

  /// Registers [data, data + size), or shares a live registration. `pointer_kind` is kPointerHost or kPointerCuda;
  /// `dmabuf_fd` >= 0 registers through that dma-buf, in which `data` lies at `dmabuf_offset`, and is not needed after
  /// the call. The handle stays valid until release(). Errors: kArgument (null, size 0, a range past the end of the
  /// address space, unknown kind), kUsage (CUDA memory without a driver), or the provider's.
  Result<MemoryHandle*> acquire(void* data, std::size_t size, int pointer_kind, int dmabuf_fd = -1,
                                std::uint64_t dmabuf_offset = 0);

  /// Ends the life of a handle. kArgument for one that is not live; it is not looked into, so any pointer will do.
  Status release(MemoryHandle* handle);

  /// True if a live handle of host memory covers [data, data + size).
  bool holds(const void* data, std::size_t size) const noexcept;

  Stats stats() const;

 private:
  /// Registrations that may stand in for each other: host memory, one GPU's memory, its memory behind dma-bufs.
  struct Group {
    int cuda_device;  ///< -1: host memory
    bool dmabuf;
    auto operator<=>(const Group&) const = default;
  };
  struct Entry {
    RailRegions rails;
    Group group;
    std::uintptr_t begin;
    std::uintptr_t end;
    std::size_t references;
  };
  struct Held {
    std::unique_ptr<MemoryHandle> handle;
    Entry* entry;  ///< null where the provider needs no registration
  };

  bool must_register(int pointer_kind) const noexcept;
  Result<Entry*> find_or_register(const fabric::MemoryRequest& request, const Group& group);
  Result<RailRegions> open_regions(const fabric::MemoryRequest& request) const;
  void drop(Entry* entry) noexcept;

  const std::vector<const fabric::Domain*> domains_;
  const bool enabled_;
  const fabric::CudaDriver* const cuda_;
  const std::uint64_t access_;
  const std::uintptr_t page_;  ///< bytes

  mutable std::mutex mutex_;
  std::unordered_map<const MemoryHandle*, Held> held_;
  std::unordered_map<const Entry*, std::unique_ptr<Entry>> entries_;
  std::map<Group, IntervalIndex<Entry>> index_;
  Stats stats_;
};

}  // namespace weft
