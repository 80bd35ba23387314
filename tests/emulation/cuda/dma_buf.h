#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "tests/emulation/cuda/status.h"

namespace weft::emulation {

// Device memory exported for a NIC. A dma-buf here is a memfd whose byte 0 is the range's byte 0, as CUDA promises.
// A range of the arena moves onto a memfd of its own with the first export; every later export of it gives the same
// memfd, because a second one would detach what was registered with the first. Any thread.
class DmaBufs {
 public:
  // The descriptor is the caller's to close.
  Status export_range(void* address, size_t size, int* fd);

 private:
  struct Export {
    size_t size;
    int fd;
    uint64_t range;  // the allocation it lies in, by id
  };
  void forget_released();

  std::mutex mutex_;
  std::map<uintptr_t, Export> exports_;
};

DmaBufs& dma_bufs();

}  // namespace weft::emulation
