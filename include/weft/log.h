// The log: one process-wide sink that the plugin points at NCCL's logger. Nothing here logs per message.
#pragma once

#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstdio>

namespace weft::log {

enum class Level : std::uint8_t { kWarn, kInfo, kTrace };

/// Receives every line, already formatted. May be called from any thread. `file` and `line` say where it was written.
using Sink = void (*)(Level level, const char* file, int line, const char* text) noexcept;

/// The sink before anybody sets one: warnings to standard error.
inline void default_sink(Level level, const char*, int, const char* text) noexcept {
  if (level == Level::kWarn) std::fprintf(stderr, "weft: %s\n", text);
}

inline std::atomic<Sink> current_sink{&default_sink};

/// Replaces the sink (nullptr: the default) and returns the old one. Thread safe.
inline Sink set_sink(Sink sink) noexcept {
  return current_sink.exchange(sink != nullptr ? sink : &default_sink, std::memory_order_acq_rel);
}

/// Formats like printf and hands the line to the sink. Lines longer than 1,023 bytes are cut. Never throws.
[[gnu::format(printf, 4, 5), gnu::cold]] inline void write(Level level, const char* file, int line, const char* format,
                                                           ...) noexcept {
  char text[1024];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  current_sink.load(std::memory_order_acquire)(level, file, line, text);
}

}  // namespace weft::log

/// The user must act: once per cause, with the remedy in the same line.
#define WEFT_WARN(...) ::weft::log::write(::weft::log::Level::kWarn, __FILE__, __LINE__, __VA_ARGS__)
/// Setup facts, proportional to the number of objects.
#define WEFT_INFO(...) ::weft::log::write(::weft::log::Level::kInfo, __FILE__, __LINE__, __VA_ARGS__)
