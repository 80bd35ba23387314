// The buffers of one connection's messages: a ring on either side, registered once. What is not in use holds a known
// byte, so that a write into memory that has been given back is found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tests/support/link.h"

namespace weft::soak {

/// The same place on both sides belongs to one message.
class Arena {
 public:
  static constexpr std::size_t kBytes = std::size_t{12} << 20;

  static Result<std::unique_ptr<Arena>> make(Link& link);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// A position from which on `bytes` are free, in one piece. Positions only grow.
  std::optional<std::uint64_t> take(std::size_t bytes) noexcept;
  /// Everything below `position` is free again.
  void give_back(std::uint64_t position) noexcept { tail_ = position; }
  /// Everything from `position` on is, because a message beside it found no room.
  void give_up(std::uint64_t position) noexcept { head_ = position; }
  std::uint64_t head() const noexcept { return head_; }

  std::span<std::byte> out(std::uint64_t position, std::size_t bytes) noexcept { return part(out_, position, bytes); }
  std::span<std::byte> in(std::uint64_t position, std::size_t bytes) noexcept { return part(in_, position, bytes); }
  void* out_memory() const noexcept { return out_memory_; }
  void* in_memory() const noexcept { return in_memory_; }

 private:
  explicit Arena(Link& link);
  static std::span<std::byte> part(std::vector<std::byte>& of, std::uint64_t position, std::size_t bytes) noexcept {
    return std::span(of).subspan(static_cast<std::size_t>(position % kBytes), bytes);
  }

  Link& link_;
  std::vector<std::byte> out_;
  std::vector<std::byte> in_;
  void* out_memory_ = nullptr;
  void* in_memory_ = nullptr;
  std::uint64_t head_ = 0;
  std::uint64_t tail_ = 0;
};

/// Fills with bytes that differ from message to message and from place to place.
void fill(std::span<std::byte> bytes, std::uint64_t seed) noexcept;
/// How many bytes are not what fill() wrote.
std::size_t wrong_bytes(std::span<const std::byte> bytes, std::uint64_t seed) noexcept;
/// Marks as free, and how many bytes have been written since.
void clear(std::span<std::byte> bytes) noexcept;
std::size_t written_bytes(std::span<const std::byte> bytes) noexcept;

}  // namespace weft::soak
