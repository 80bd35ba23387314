// Bytes read as a script of steps. Behind its end everything is zero.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace weft::test {

enum class Step : std::uint8_t {
  kHandle,
  kRaw,
  kRequest,
  kReply,
  kNotice,
  kTagged,
  kReceive,
  kSend,
  kTest,
  kPoll,
  kClose,
};
inline constexpr std::uint8_t kSteps = 11;

class Script {
 public:
  explicit Script(std::span<const std::uint8_t> input) : left_(input) {}

  bool at_end() const noexcept { return left_.empty(); }
  std::span<const std::uint8_t> bytes(std::size_t count) noexcept {
    const auto taken = left_.first(std::min(count, left_.size()));
    left_ = left_.subspan(taken.size());
    return taken;
  }
  /// Fills the front of an object of plain bytes.
  template <class T>
  void into(T& object) noexcept {
    const auto taken = bytes(sizeof object);
    if (!taken.empty()) std::memcpy(static_cast<void*>(&object), taken.data(), taken.size());
  }
  std::uint8_t byte() noexcept { return number<std::uint8_t>(); }
  std::uint16_t number16() noexcept { return number<std::uint16_t>(); }
  std::uint64_t number64() noexcept { return number<std::uint64_t>(); }

  /// Changes one to eight bytes of a message.
  void damage(std::span<std::byte> message) noexcept {
    for (int left = 1 + byte() % 8; left > 0 && !at_end(); --left) {
      const std::size_t place = number16() % message.size();
      message[place] ^= static_cast<std::byte>(byte());
    }
  }

 private:
  template <class T>
  T number() noexcept {
    T value = 0;
    into(value);
    return value;
  }

  std::span<const std::uint8_t> left_;
};

}  // namespace weft::test
