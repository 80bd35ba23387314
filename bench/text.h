// printf into a std::string: the one way bench/ makes its messages.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <string>

namespace weft::bench {

/// Formats like printf; any length. Thread safe.
[[gnu::format(printf, 1, 2)]] inline std::string text(const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  std::va_list again;
  va_copy(again, arguments);
  const int size = std::vsnprintf(nullptr, 0, format, arguments);
  va_end(arguments);
  std::string result(size > 0 ? static_cast<std::size_t>(size) : 0, '\0');
  std::vsnprintf(result.data(), result.size() + 1, format, again);
  va_end(again);
  return result;
}

}  // namespace weft::bench
