#include "tests/emulation/efa/memory_region.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "tests/emulation/efa/reply.h"

namespace weft::emulation::efa {
namespace {

ibv_mr* register_region(ibv_pd* domain, void* address, size_t length, uint64_t iova, int access,
                        std::unique_ptr<MemoryRegion> region) {
  const bool write_without_local = (access & IBV_ACCESS_REMOTE_WRITE) != 0 && (access & IBV_ACCESS_LOCAL_WRITE) == 0;
  if (write_without_local || (access & IBV_ACCESS_REMOTE_ATOMIC) != 0) {
    errno = EINVAL;
    return nullptr;
  }
  SharedDevice& shared = Context::of(domain->context)->shared();
  const std::lock_guard guard(shared.lock);
  for (uint32_t i = 0; i < kMaxMemoryRegions; ++i) {
    const uint32_t number = (shared.memory_region_hint + i) % kMaxMemoryRegions;
    MemoryRegionSlot& slot = shared.memory_regions[number];
    if (slot.key != 0) continue;
    slot.generation = slot.generation % 255 + 1;
    slot.pid = getpid();
    slot.domain = reinterpret_cast<ProtectionDomain*>(domain)->number;
    slot.access = static_cast<uint32_t>(access);
    slot.iova = iova;
    slot.length = length;
    slot.address = reinterpret_cast<uint64_t>(address);
    shared.memory_region_hint = number + 1;
    const uint32_t key = slot.generation << 16 | number;
    slot.key.store(key, std::memory_order_release);
    region->verbs = {domain->context, domain, address, length, number, key, key};
    return &region.release()->verbs;
  }
  errno = ENOMEM;
  return nullptr;
}

}  // namespace
}  // namespace weft::emulation::efa

using namespace weft::emulation::efa;

WEFT_VERBS ibv_pd* ibv_alloc_pd(ibv_context* context) {
  auto* domain = new ProtectionDomain{};
  domain->verbs.context = context;
  domain->number = Context::of(context)->next_protection_domain();
  return &domain->verbs;
}

WEFT_VERBS int ibv_dealloc_pd(ibv_pd* domain) {
  delete reinterpret_cast<ProtectionDomain*>(domain);
  return 0;
}

WEFT_VERBS ibv_mr* ibv_reg_mr(ibv_pd* domain, void* address, size_t length, int access) {
  return register_region(domain, address, length, reinterpret_cast<uint64_t>(address), access,
                         std::make_unique<MemoryRegion>());
}
WEFT_VERBS ibv_mr* ibv_reg_mr_iova(ibv_pd* domain, void* address, size_t length, uint64_t iova, int access) {
  return register_region(domain, address, length, iova, access, std::make_unique<MemoryRegion>());
}
WEFT_VERBS ibv_mr* ibv_reg_mr_iova2(ibv_pd* domain, void* address, size_t length, uint64_t iova, unsigned access) {
  return register_region(domain, address, length, iova, static_cast<int>(access), std::make_unique<MemoryRegion>());
}

// Any descriptor that can be mapped: the emulated CUDA exports memfds.
WEFT_VERBS ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* domain, uint64_t offset, size_t length, uint64_t iova, int fd,
                                     int access) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t base = offset & ~(page - 1);
  auto region = std::make_unique<MemoryRegion>();
  region->mapping_size = length + (offset - base);
  region->mapping =
      mmap(nullptr, region->mapping_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(base));
  if (region->mapping == MAP_FAILED) return nullptr;
  void* mapping = region->mapping;
  const size_t mapping_size = region->mapping_size;
  ibv_mr* made =
      register_region(domain, static_cast<char*>(mapping) + (offset - base), length, iova, access, std::move(region));
  if (made == nullptr) munmap(mapping, mapping_size);
  return made;
}

WEFT_VERBS int ibv_dereg_mr(ibv_mr* verbs) {
  auto* region = reinterpret_cast<MemoryRegion*>(verbs);
  Context::of(verbs->context)->shared().memory_regions[verbs->handle].key.store(0, std::memory_order_release);
  if (region->mapping != nullptr) munmap(region->mapping, region->mapping_size);
  delete region;
  return 0;
}

WEFT_VERBS int efadv_query_mr(ibv_mr*, efadv_mr_attr* attributes, uint32_t size) {
  return reply(attributes, efadv_mr_attr{}, size);
}
