#pragma once

#include <cstddef>
#include <map>
#include <mutex>

namespace weft::emulation {

constexpr size_t kPageSize = 4096;

constexpr size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

// The memory of one GPU: a sparse memfd, mapped shared, so that another process can map the same pages (CUDA IPC).
// Pages that nobody touched cost nothing. Any thread.
class Arena {
 public:
  explicit Arena(size_t size);

  // nullptr when there is no room.
  char* allocate(size_t bytes);
  // Gives the pages back, and undoes what an export as dma-buf mapped over them.
  void release(char* address, size_t bytes);

  size_t size() const { return size_; }
  size_t used();
  int fd() const { return fd_; }
  size_t offset_of(const void* address) const { return static_cast<size_t>(static_cast<const char*>(address) - base_); }

 private:
  const size_t size_;
  int fd_ = -1;
  char* base_ = nullptr;
  std::mutex mutex_;
  std::map<size_t, size_t> free_;  // offset, length
  size_t used_ = 0;
};

// The memory of a device that CUDA sees. The device must exist.
Arena& arena_of(int device);

}  // namespace weft::emulation
