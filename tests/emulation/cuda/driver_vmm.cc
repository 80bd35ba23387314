// Virtual memory management: an allocation is a memfd of its own, so that it can be exported as a descriptor and mapped
// by another process. And dma-bufs.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>

#include "tests/emulation/cuda/address_space.h"
#include "tests/emulation/cuda/arena.h"
#include "tests/emulation/cuda/dma_buf.h"
#include "tests/emulation/cuda/driver.h"

using weft::emulation::address_space;
using weft::emulation::MemoryKind;
using weft::emulation::pointer;

namespace {

constexpr size_t kGranularity = size_t{2} << 20;

// What a CUmemGenericAllocationHandle points to. As with a real driver a handle that is retained is the same handle:
// references are counted, the mappings' among them.
struct Allocation {
  ~Allocation() { close(fd); }
  int fd;
  size_t size;
  CUmemAllocationProp properties;
  std::atomic<int> references = 1;
};

struct Mapping {
  size_t size;
  Allocation* allocation;
};

struct Mappings {
  std::mutex mutex;
  std::map<CUdeviceptr, Mapping> by_address;
};
Mappings& mappings() {
  static auto& all = *new Mappings;
  return all;
}

Allocation* allocation_of(CUmemGenericAllocationHandle handle) { return reinterpret_cast<Allocation*>(handle); }
CUmemGenericAllocationHandle handle_of(Allocation* allocation) {
  return reinterpret_cast<CUmemGenericAllocationHandle>(allocation);
}
Allocation* retain(Allocation* allocation) {
  ++allocation->references;
  return allocation;
}
void release(Allocation* allocation) {
  if (--allocation->references == 0) delete allocation;
}

int duplicate(int fd) { return fcntl(fd, F_DUPFD_CLOEXEC, 0); }

}  // namespace

WEFT_EMULATED CUresult cuMemGetAllocationGranularity(size_t* bytes, const CUmemAllocationProp*,
                                                     CUmemAllocationGranularity_flags) {
  *bytes = kGranularity;
  return CUDA_SUCCESS;
}

WEFT_EMULATED CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size,
                                   const CUmemAllocationProp* properties, unsigned long long) {
  if ((properties->requestedHandleTypes & CU_MEM_HANDLE_TYPE_FABRIC) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  const int fd = memfd_create("weft-emulated-vmm", MFD_CLOEXEC);
  if (fd < 0) return CUDA_ERROR_OUT_OF_MEMORY;
  auto allocation = std::make_unique<Allocation>(fd, size, *properties);
  if (ftruncate(fd, static_cast<off_t>(size)) != 0) return CUDA_ERROR_OUT_OF_MEMORY;
  *handle = handle_of(allocation.release());
  return CUDA_SUCCESS;
}
WEFT_EMULATED CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  release(allocation_of(handle));
  return CUDA_SUCCESS;
}

WEFT_EMULATED CUresult cuMemAddressReserve(CUdeviceptr* address, size_t size, size_t alignment, CUdeviceptr,
                                           unsigned long long) {
  if (alignment < kGranularity) alignment = kGranularity;
  void* space = mmap(nullptr, size + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  const auto from = reinterpret_cast<uintptr_t>(space);
  const uintptr_t begin = weft::emulation::round_up(from, alignment);
  if (begin > from) munmap(space, begin - from);
  if (from + alignment > begin) munmap(reinterpret_cast<void*>(begin + size), from + alignment - begin);
  *address = begin;
  return CUDA_SUCCESS;
}
WEFT_EMULATED CUresult cuMemAddressFree(CUdeviceptr address, size_t size) {
  munmap(pointer(address), size);
  return CUDA_SUCCESS;
}

WEFT_EMULATED CUresult cuMemMap(CUdeviceptr address, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                                unsigned long long) {
  Allocation* allocation = allocation_of(handle);
  if (mmap(pointer(address), size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, allocation->fd,
           static_cast<off_t>(offset)) == MAP_FAILED) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  {
    const std::lock_guard lock(mappings().mutex);
    mappings().by_address[address] = Mapping{size, retain(allocation)};
  }
  const CUmemLocation& place = allocation->properties.location;
  const bool device = place.type == CU_MEM_LOCATION_TYPE_DEVICE;
  address_space().add(pointer(address), size, device ? MemoryKind::kMapped : MemoryKind::kPinnedHost,
                      device ? place.id : 0);
  return CUDA_SUCCESS;
}
WEFT_EMULATED CUresult cuMemUnmap(CUdeviceptr address, size_t size) {
  {
    const std::lock_guard lock(mappings().mutex);
    const auto found = mappings().by_address.find(address);
    if (found == mappings().by_address.end()) return CUDA_ERROR_INVALID_VALUE;
    release(found->second.allocation);
    mappings().by_address.erase(found);
  }
  // When it fails, the old mapping stays until the address is used anew.
  static_cast<void>(
      mmap(pointer(address), size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0));
  if (!address_space().remove(pointer(address), MemoryKind::kMapped)) {
    address_space().remove(pointer(address), MemoryKind::kPinnedHost);
  }
  return CUDA_SUCCESS;
}
WEFT_EMULATED CUresult cuMemSetAccess(CUdeviceptr, size_t, const CUmemAccessDesc*, size_t) { return CUDA_SUCCESS; }

WEFT_EMULATED CUresult cuMemExportToShareableHandle(void* shareable, CUmemGenericAllocationHandle handle,
                                                    CUmemAllocationHandleType type, unsigned long long) {
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  *static_cast<int*>(shareable) = duplicate(allocation_of(handle)->fd);
  return CUDA_SUCCESS;
}
WEFT_EMULATED CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* shareable,
                                                      CUmemAllocationHandleType type) {
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  const int fd = duplicate(static_cast<int>(reinterpret_cast<intptr_t>(shareable)));
  if (fd < 0) return CUDA_ERROR_INVALID_VALUE;
  struct stat status{};
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  auto allocation = std::make_unique<Allocation>(fd, size_t{0}, properties);
  if (fstat(fd, &status) != 0) return CUDA_ERROR_INVALID_VALUE;
  allocation->size = static_cast<size_t>(status.st_size);
  *handle = handle_of(allocation.release());
  return CUDA_SUCCESS;
}
WEFT_EMULATED CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  const auto wanted = reinterpret_cast<CUdeviceptr>(address);
  const std::lock_guard lock(mappings().mutex);
  const auto after = mappings().by_address.upper_bound(wanted);
  if (after == mappings().by_address.begin()) return CUDA_ERROR_INVALID_VALUE;
  const auto& [base, mapping] = *std::prev(after);
  if (wanted - base >= mapping.size) return CUDA_ERROR_INVALID_VALUE;
  *handle = handle_of(retain(mapping.allocation));
  return CUDA_SUCCESS;
}
WEFT_EMULATED CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties,
                                                              CUmemGenericAllocationHandle handle) {
  *properties = allocation_of(handle)->properties;
  return CUDA_SUCCESS;
}

WEFT_EMULATED CUresult cuMemGetHandleForAddressRange(void* handle, CUdeviceptr address, size_t size,
                                                     CUmemRangeHandleType type, unsigned long long) {
  if (type != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD || !weft::emulation::settings().dma_buf) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  {
    const std::lock_guard lock(mappings().mutex);
    const auto found = mappings().by_address.find(address);
    // From its beginning an allocation has its memfd already. Other parts move onto one of their own, which detaches
    // them from other processes that mapped the allocation.
    if (found != mappings().by_address.end() && size <= found->second.size) {
      *static_cast<int*>(handle) = duplicate(found->second.allocation->fd);
      return CUDA_SUCCESS;
    }
  }
  return weft::emulation::result(
      weft::emulation::dma_bufs().export_range(pointer(address), size, static_cast<int*>(handle)));
}
