// A PCI function's place: domain:bus:device.function.
#pragma once

#include <charconv>
#include <compare>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

namespace weft::topology {

struct PciAddress {
  std::uint32_t domain = 0;
  std::uint8_t bus = 0;
  std::uint8_t device = 0;
  std::uint8_t function = 0;

  /// Reads "0000:53:00.0"; the domain may be left out ("53:00.0"). Nothing if the text is anything else.
  static std::optional<PciAddress> parse(std::string_view text);

  /// As the kernel writes it: "0000:53:00.0".
  std::string text() const {
    char buffer[24];
    std::snprintf(buffer, sizeof buffer, "%04x:%02x:%02x.%x", domain, bus, device, function);
    return buffer;
  }

  auto operator<=>(const PciAddress&) const = default;
};

inline std::optional<PciAddress> PciAddress::parse(std::string_view text) {
  const auto number = [&text](char until, std::uint32_t highest) -> std::optional<std::uint32_t> {
    const auto end = until != 0 ? text.find(until) : text.size();
    if (end == std::string_view::npos || end == 0) return {};
    std::uint32_t value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + end, value, 16);
    if (error != std::errc{} || stop != text.data() + end || value > highest) return {};
    text.remove_prefix(until != 0 ? end + 1 : end);
    return value;
  };
  PciAddress address;
  if (text.find(':') != text.rfind(':')) {
    // The kernel gives domains above 16 bits to bridges it makes up itself (Intel's VMD, Hyper-V).
    const auto domain = number(':', UINT32_MAX);
    if (!domain) return {};
    address.domain = *domain;
  }
  const auto bus = number(':', 0xff), device = number('.', 0x1f), function = number(0, 7);
  if (!bus || !device || !function) return {};
  address.bus = static_cast<std::uint8_t>(*bus);
  address.device = static_cast<std::uint8_t>(*device);
  address.function = static_cast<std::uint8_t>(*function);
  return address;
}

}  // namespace weft::topology
