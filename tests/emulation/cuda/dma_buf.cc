#include "tests/emulation/cuda/dma_buf.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "tests/emulation/cuda/address_space.h"
#include "tests/emulation/cuda/arena.h"
#include "tests/emulation/cuda/log.h"

namespace weft::emulation {
namespace {

int duplicate(int fd) { return fcntl(fd, F_DUPFD_CLOEXEC, 0); }

// Puts the pages of the range onto a new memfd. -1: failed.
int move_to_memfd(void* address, size_t size) {
  const int fd = memfd_create("weft-emulated-dma-buf", MFD_CLOEXEC);
  if (fd < 0) return -1;
  for (size_t done = 0; done < size;) {
    const ssize_t written = write(fd, static_cast<char*>(address) + done, size - done);
    if (written <= 0) {
      close(fd);
      return -1;
    }
    done += static_cast<size_t>(written);
  }
  if (mmap(address, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
    close(fd);
    return -1;
  }
  return fd;
}

}  // namespace

void DmaBufs::forget_released() {
  std::erase_if(exports_, [](const auto& entry) {
    const auto range = address_space().find(reinterpret_cast<void*>(entry.first));
    if (range && range->id == entry.second.range) return false;
    close(entry.second.fd);
    return true;
  });
}

Status DmaBufs::export_range(void* address, size_t size, int* fd) {
  const auto begin = reinterpret_cast<uintptr_t>(address);
  const auto range = address_space().find(address);
  const bool device = range && (range->kind == MemoryKind::kDevice || range->kind == MemoryKind::kMapped);
  if (begin % kPageSize != 0 || size % kPageSize != 0 || !device) return Status::kInvalidValue;
  const std::lock_guard lock(mutex_);
  forget_released();
  for (const auto& [base, known] : exports_) {
    if (base == begin && size <= known.size) {
      *fd = duplicate(known.fd);
      return Status::kSuccess;
    }
    if (base < begin + size && begin < base + known.size) {
      log(0, "a dma-buf of %p, %zu bytes, overlaps one exported before: not emulated", address, size);
      return Status::kNotSupported;
    }
  }
  const int memfd = move_to_memfd(address, size);
  if (memfd < 0) return Status::kOutOfMemory;
  exports_[begin] = Export{size, memfd, range->id};
  *fd = duplicate(memfd);
  return Status::kSuccess;
}

DmaBufs& dma_bufs() {
  static auto& all = *new DmaBufs;
  return all;
}

}  // namespace weft::emulation
