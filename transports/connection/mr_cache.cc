#include "transports/connection/mr_cache.h"

#include <rdma/fabric.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "weft/log.h"

namespace weft {
namespace {

std::uintptr_t page_bytes() noexcept {
  const long size = sysconf(_SC_PAGESIZE);
  return size > 0 ? static_cast<std::uintptr_t>(size) : 4096;
}

/// Widens to whole pages: neighbours in one page then share a registration, and a page is mapped as a whole anyway.
/// Not for a dma-buf, which may begin and end at the buffer.
fabric::MemoryRequest widened(const fabric::MemoryRequest& request, std::uintptr_t page) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(request.data);
  const std::uintptr_t before = begin % page;
  const std::uintptr_t rest = (begin + request.size) % page;
  const std::uintptr_t after = rest == 0 ? 0 : page - rest;
  fabric::MemoryRequest wide = request;
  wide.data = static_cast<std::byte*>(request.data) - before;
  wide.size = before + request.size + after;
  return wide;
}

std::string described(const void* data, std::size_t size) {
  char text[64];
  std::snprintf(text, sizeof text, "%zu bytes at %p", size, data);
  return text;
}

}  // namespace

Result<RailRegions> RailRegions::open(std::span<const fabric::Domain* const> domains,
                                      const fabric::MemoryRequest& request, std::uint64_t access) {
  RailRegions rails;
  rails.regions.reserve(domains.size());
  for (const fabric::Domain* domain : domains) {
    TRY(auto region, fabric::MemoryRegion::open(*domain, request, access));
    rails.keys[rails.regions.size()] = static_cast<std::uint32_t>(region.key());
    rails.descriptors[rails.regions.size()] = region.descriptor();
    rails.regions.push_back(std::move(region));
  }
  return rails;
}

MrCache::MrCache(std::vector<const fabric::Domain*> domains, bool enabled, const fabric::CudaDriver* cuda,
                 std::uint64_t access)
    : domains_(std::move(domains)), enabled_(enabled), cuda_(cuda), access_(access), page_(page_bytes()) {}

MrCache::~MrCache() {
  if (!held_.empty()) {
    WEFT_WARN("%zu memory registrations on %s were never given back", held_.size(),
              domains_.front()->info().domain().c_str());
  }
}

bool MrCache::must_register(int pointer_kind) const noexcept {
  const bool remote = (access_ & (FI_REMOTE_READ | FI_REMOTE_WRITE)) != 0;
  return pointer_kind == kPointerCuda || remote || domains_.front()->needs_local_registration();
}

Result<MemoryHandle*> MrCache::acquire(void* data, std::size_t size, int pointer_kind, int dmabuf_fd,
                                       std::uint64_t dmabuf_offset) {
  if (data == nullptr || size == 0) {
    return fail(Code::kArgument, "cannot register " + described(data, size) + ": the range is empty");
  }
  // The last page of the address space is left out, so that widening cannot wrap.
  const std::uintptr_t limit = UINTPTR_MAX - page_;
  if (const auto begin = reinterpret_cast<std::uintptr_t>(data); begin > limit || size > limit - begin) {
    return fail(Code::kArgument, "cannot register " + described(data, size) + ": the range leaves the address space");
  }
  if (pointer_kind != kPointerHost && pointer_kind != kPointerCuda) {
    return fail(Code::kArgument, "cannot register " + described(data, size) + ": memory of kind " +
                                     std::to_string(pointer_kind) + " is neither host's nor CUDA's");
  }
  fabric::MemoryRequest request{.data = data, .size = size};
  auto handle = std::make_unique<MemoryHandle>(
      MemoryHandle{.data = static_cast<std::byte*>(data), .size = size, .pointer_kind = pointer_kind});
  if (pointer_kind == kPointerCuda) {
    if (cuda_ == nullptr) {
      return fail(Code::kUsage, "cannot register " + described(data, size) + " of CUDA memory: no CUDA driver is open");
    }
    TRY(handle->cuda_device, cuda_->device_of(data));
    request.is_cuda = true;
    request.cuda_device = handle->cuda_device;
  }
  if (dmabuf_fd >= 0) {
    request.dmabuf_fd = dmabuf_fd;
    request.dmabuf_offset = dmabuf_offset;
  } else {
    request = widened(request, page_);
  }

  const std::lock_guard guard(mutex_);
  Entry* entry = nullptr;
  if (must_register(pointer_kind)) {
    TRY(entry, find_or_register(request, Group{handle->cuda_device, dmabuf_fd >= 0}));
    handle->descriptor = entry->rails.regions.front().descriptor();
    handle->rails = &entry->rails;
    handle->remote_origin = domains_.front()->uses_virtual_addresses() ? 0 : entry->begin;
  }
  MemoryHandle* const key = handle.get();
  held_.emplace(key, Held{std::move(handle), entry});
  return key;
}

Result<MrCache::Entry*> MrCache::find_or_register(const fabric::MemoryRequest& request, const Group& group) {
  const auto begin = reinterpret_cast<std::uintptr_t>(request.data);
  const std::uintptr_t end = begin + request.size;
  if (enabled_) {
    if (Entry* const live = index_[group].find(begin, end); live != nullptr) {
      ++stats_.hits;
      ++live->references;
      return live;
    }
  }
  ++stats_.misses;
  TRY(auto rails, open_regions(request));
  auto entry = std::make_unique<Entry>(Entry{std::move(rails), group, begin, end, 1});
  Entry* const key = entry.get();
  if (enabled_) index_[group].insert(begin, end, key);
  entries_.emplace(key, std::move(entry));
  return key;
}

Result<RailRegions> MrCache::open_regions(const fabric::MemoryRequest& request) const {
  if (!request.is_cuda) return RailRegions::open(domains_, request, access_);
  const fabric::CudaDriver::ContextScope context(*cuda_, request.cuda_device);
  if (!context.current()) {
    return fail(Code::kSystem, "cannot register " + described(request.data, request.size) +
                                   ": the context of CUDA device " + std::to_string(request.cuda_device) +
                                   " cannot be made current");
  }
  return RailRegions::open(domains_, request, access_);
}

Status MrCache::release(MemoryHandle* handle) {
  const std::lock_guard guard(mutex_);
  const auto held = held_.find(handle);
  if (held == held_.end()) {
    char text[96];
    std::snprintf(text, sizeof text, "memory handle %p is not live: it was released before or never given out",
                  static_cast<void*>(handle));
    return fail(Code::kArgument, text);
  }
  Entry* const entry = held->second.entry;
  held_.erase(held);
  if (entry != nullptr && --entry->references == 0) drop(entry);
  return {};
}

void MrCache::drop(Entry* entry) noexcept {
  if (enabled_) {
    const auto index = index_.find(entry->group);
    index->second.erase(entry->begin, entry);
    if (index->second.empty()) index_.erase(index);
  }
  entries_.erase(entry);
}

bool MrCache::holds(const void* data, std::size_t size) const noexcept {
  const std::lock_guard guard(mutex_);
  return std::ranges::any_of(held_, [&](const auto& held) {
    return held.first->pointer_kind == kPointerHost && held.first->contains(data, size);
  });
}

MrCache::Stats MrCache::stats() const {
  const std::lock_guard guard(mutex_);
  Stats stats = stats_;
  stats.live = entries_.size();
  stats.handles = held_.size();
  return stats;
}

}  // namespace weft
