#include "bench/sizes.h"

#include <charconv>
#include <cstdint>

#include "bench/text.h"

namespace weft::bench {
namespace {

/// 0 for a letter that is no unit.
std::size_t unit_of(char letter) {
  switch (letter) {
    case 'k':
    case 'K': return std::size_t{1} << 10;
    case 'm':
    case 'M': return std::size_t{1} << 20;
    case 'g':
    case 'G': return std::size_t{1} << 30;
    default: return 0;
  }
}

}  // namespace

Result<std::size_t> parse_size(std::string_view text_in) {
  const auto refuse = [&](const char* why) {
    return fail(Code::kArgument,
                text("'%.*s' is not a size: %s", static_cast<int>(text_in.size()), text_in.data(), why));
  };
  std::size_t number = 0;
  const char* end = text_in.data() + text_in.size();
  const auto parsed = std::from_chars(text_in.data(), end, number);
  if (parsed.ec == std::errc::result_out_of_range) return refuse("it is too large");
  if (parsed.ec != std::errc()) return refuse("give a whole number, with K, M or G for powers of 1024");
  if (parsed.ptr == end) return number;
  const std::size_t unit = unit_of(*parsed.ptr);
  if (unit == 0 || parsed.ptr + 1 != end) return refuse("only K, M or G may follow the number");
  if (number > SIZE_MAX / unit) return refuse("it is too large");
  return number * unit;
}

std::string size_text(std::size_t bytes) {
  for (const char letter : {'G', 'M', 'K'}) {
    const std::size_t unit = unit_of(letter);
    if (bytes >= unit && bytes % unit == 0) return std::to_string(bytes / unit) + letter;
  }
  return std::to_string(bytes);
}

Result<std::vector<std::size_t>> size_series(std::size_t first, std::size_t last, std::size_t factor,
                                             std::size_t step) {
  if (first == 0) return fail(Code::kArgument, "-b 0: the smallest size must be at least 1 byte");
  if (last < first) {
    return fail(Code::kArgument, text("-e %s is below -b %s: the largest size must not be smaller than the smallest",
                                      size_text(last).c_str(), size_text(first).c_str()));
  }
  // A single size needs no way to get from one to the next.
  if (first != last && factor < 2 && step == 0) {
    return fail(Code::kArgument,
                text("-f %zu: the factor between sizes must be 2 or more (or give a step with -i)", factor));
  }
  std::vector<std::size_t> sizes;
  for (std::size_t size = first;;) {
    sizes.push_back(size);
    if (size == last) break;
    const bool multiply = factor >= 2;
    const bool fits = multiply ? size <= last / factor : step <= last - size;
    if (!fits) break;
    size = multiply ? size * factor : size + step;
  }
  return sizes;
}

}  // namespace weft::bench
