#include "transports/fabric/memory_region.h"

#include <sys/uio.h>

#include <atomic>
#include <cstring>

namespace weft::fabric {
namespace {

// libfabric 1.20 brought dma-buf registration: a flag, and a structure that takes the iovec's place in fi_mr_attr
// (rdma/fi_domain.h). Declared here so that older headers serve as well.
constexpr std::uint32_t kDmaBufVersion = FI_VERSION(1, 20);
constexpr std::uint64_t kDmaBufFlag = 1ULL << 40;
struct DmaBuf {
  int fd;
  std::uint64_t offset;
  std::size_t len;
  void* base_addr;
};
static_assert(sizeof(DmaBuf) == 32);

}  // namespace

Result<MemoryRegion> MemoryRegion::open(const Domain& domain, const MemoryRequest& request, std::uint64_t access) {
  iovec span{request.data, request.size};
  // The region is [base + offset, base + offset + len) in virtual addresses (fi_mr(3)).
  DmaBuf dmabuf{request.dmabuf_fd, request.dmabuf_offset, request.size,
                static_cast<std::byte*>(request.data) - request.dmabuf_offset};
  // Newer libraries append fields to the attributes; the zeroes behind them are theirs.
  union {
    fi_mr_attr attributes;
    char room[256];
  } storage;
  std::memset(&storage, 0, sizeof storage);
  fi_mr_attr& attributes = storage.attributes;
  attributes.mr_iov = &span;
  attributes.iov_count = 1;
  attributes.access = access;
  // Only looked at by providers that let the caller choose; unique in the process, hence in every domain.
  static std::atomic<std::uint64_t> next_key{1};
  attributes.requested_key = next_key.fetch_add(1, std::memory_order_relaxed);
  std::uint64_t flags = 0;
  if (request.is_cuda) {
    attributes.iface = FI_HMEM_CUDA;
    attributes.device.cuda = request.cuda_device;
  }
  if (request.dmabuf_fd >= 0) {
    if (domain.library().api_version() < kDmaBufVersion) {
      return fail(Code::kUsage, "dma-buf registration needs libfabric " + version_string(kDmaBufVersion) +
                                    " or newer; " + domain.library().path() + " is " +
                                    version_string(domain.library().version()));
    }
    attributes.mr_iov = reinterpret_cast<iovec*>(&dmabuf);  // a union with `dmabuf` in newer headers
    flags |= kDmaBufFlag;
  }
  fid_mr* raw = nullptr;
  if (const int rc = fi_mr_regattr(domain.get(), &attributes, flags, &raw); rc != 0) {
    return std::unexpected(domain.error("fi_mr_regattr", rc));
  }
  return MemoryRegion(Fid<fid_mr>(raw));
}

}  // namespace weft::fabric
