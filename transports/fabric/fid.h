// Ownership of a libfabric object, written once.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

#include <utility>

#include "weft/log.h"

namespace weft::fabric {

/// Owns one libfabric object (fid_fabric, fid_domain, fid_ep, ...) and closes it. Move only. An object may be closed
/// only after those made from it: declare parents before children, so that members are destroyed in the right order.
template <class T>
class [[nodiscard]] Fid {
 public:
  Fid() = default;
  explicit Fid(T* raw) noexcept : raw_(raw) {}
  Fid(Fid&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  Fid& operator=(Fid&& other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~Fid() {
    if (raw_ == nullptr) return;
    if (const int rc = fi_close(&raw_->fid); rc != 0) {
      WEFT_WARN("fi_close failed: error %d; the object is leaked%s", -rc,
                rc == -FI_EBUSY ? ". Messages that never ended keep it, as after an abort; that does no harm" : "");
    }
  }

  T* get() const noexcept { return raw_; }
  explicit operator bool() const noexcept { return raw_ != nullptr; }

 private:
  T* raw_ = nullptr;
};

}  // namespace weft::fabric
