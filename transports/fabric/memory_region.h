// Memory that the NIC may touch.
#pragma once

#include <rdma/fi_domain.h>

#include <cstddef>
#include <cstdint>

#include "transports/fabric/domain.h"
#include "weft/result.h"

namespace weft::fabric {

/// What to register. Host memory needs only address and size.
struct MemoryRequest {
  void* data = nullptr;
  std::size_t size = 0;
  bool is_cuda = false;
  int cuda_device = 0;              ///< ordinal, for CUDA memory
  int dmabuf_fd = -1;               ///< >= 0: register through this dma-buf
  std::uint64_t dmabuf_offset = 0;  ///< of `data` in the dma-buf
};

class MemoryRegion {
 public:
  /// Registers for the access bits given (FI_SEND | FI_RECV, FI_REMOTE_WRITE, ...). May block for milliseconds.
  static Result<MemoryRegion> open(const Domain& domain, const MemoryRequest& request, std::uint64_t access);

  void* descriptor() const noexcept { return fi_mr_desc(mr_.get()); }
  std::uint64_t key() const noexcept { return fi_mr_key(mr_.get()); }

 private:
  explicit MemoryRegion(Fid<fid_mr> mr) : mr_(std::move(mr)) {}

  Fid<fid_mr> mr_;
};

}  // namespace weft::fabric
