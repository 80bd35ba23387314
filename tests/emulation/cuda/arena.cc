#include "tests/emulation/cuda/arena.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <iterator>
#include <memory>
#include <vector>

#include "tests/emulation/cuda/log.h"
#include "tests/emulation/cuda/settings.h"

namespace weft::emulation {
namespace {
// As on a GPU, large blocks begin at a large page.
constexpr size_t kLarge = size_t{1} << 20, kLargePage = size_t{2} << 20;
}  // namespace

Arena::Arena(size_t size) : size_(size) {
  fd_ = memfd_create("weft-emulated-gpu", MFD_CLOEXEC);
  if (fd_ < 0 || ftruncate(fd_, static_cast<off_t>(size)) != 0) {
    log(0, "no memory of %zu bytes for a GPU: WEFT_LAB_CUDA_MEM_MB", size);
    return;
  }
  void* space = mmap(nullptr, size + kLargePage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) return;
  base_ = reinterpret_cast<char*>(round_up(reinterpret_cast<uintptr_t>(space), kLargePage));
  if (mmap(base_, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd_, 0) != MAP_FAILED) {
    free_[0] = size;
  }
}

char* Arena::allocate(size_t bytes) {
  const size_t length = round_up(bytes, kPageSize);
  const size_t alignment = length >= kLarge ? kLargePage : kPageSize;
  const std::lock_guard lock(mutex_);
  for (auto block = free_.begin(); block != free_.end(); ++block) {
    const auto [offset, room] = *block;
    const size_t start = round_up(offset, alignment);
    if (start + length > offset + room) continue;
    free_.erase(block);
    if (start > offset) free_[offset] = start - offset;
    if (start + length < offset + room) free_[start + length] = offset + room - start - length;
    used_ += length;
    return base_ + start;
  }
  return nullptr;
}

void Arena::release(char* address, size_t bytes) {
  size_t length = round_up(bytes, kPageSize);
  size_t offset = offset_of(address);
  // Within a range that is mapped already: cannot fail but for want of kernel memory, and then the GPU's use of it ends
  // the process.
  static_cast<void>(mmap(address, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd_,
                         static_cast<off_t>(offset)));
  fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset), static_cast<off_t>(length));
  const std::lock_guard lock(mutex_);
  used_ -= length;
  const auto next = free_.lower_bound(offset);
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      offset = before->first;
      length += before->second;
      free_.erase(before);
    }
  }
  if (next != free_.end() && offset + length == next->first) {
    length += next->second;
    free_.erase(next);
  }
  free_[offset] = length;
}

size_t Arena::used() {
  const std::lock_guard lock(mutex_);
  return used_;
}

Arena& arena_of(int device) {
  static auto& mutex = *new std::mutex;
  static auto& arenas = *new std::vector<std::unique_ptr<Arena>>(settings().visible.size());
  const std::lock_guard lock(mutex);
  auto& arena = arenas[static_cast<size_t>(device)];
  if (!arena) arena = std::make_unique<Arena>(settings().memory);
  return *arena;
}

}  // namespace weft::emulation
