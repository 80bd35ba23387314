// Page-aligned memory for messages.
#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <span>
#include <utility>

#include "bench/text.h"
#include "weft/result.h"

namespace weft::bench {

/// Owns anonymous memory in whole pages, zeroed. Move only.
class Buffer {
 public:
  static Result<Buffer> allocate(std::size_t bytes) {
    const std::size_t mapped = bytes != 0 ? bytes : 1;
    void* memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return fail(Code::kSystem, errno, text("no memory for a buffer of %zu bytes", bytes));
    return Buffer(static_cast<std::byte*>(memory), bytes);
  }

  Buffer() = default;
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Buffer() {
    if (data_ != nullptr) munmap(data_, bytes_ != 0 ? bytes_ : 1);
  }

  std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }
  std::span<std::byte> first(std::size_t bytes) const { return {data_, bytes}; }

 private:
  Buffer(std::byte* data, std::size_t bytes) : data_(data), bytes_(bytes) {}

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace weft::bench
