// Errors and results. Setup code returns Result<T>; the hot path returns small enums instead.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <utility>

namespace weft {

/// What kind of failure happened, as far as the caller can act on it. The boundary maps each to one NCCL result.
enum class Code : std::uint8_t {
  kSystem,     ///< an operating system or provider call failed
  kInternal,   ///< a bug in Weft
  kArgument,   ///< the caller passed something that cannot be right
  kUsage,      ///< a valid call at the wrong time, or one this ABI or provider cannot do
  kRemote,     ///< the peer is gone, refused, or broke the protocol
  kTruncated,  ///< a message was longer than the buffer that waited for it
  kTimeout,    ///< the peer did not answer in time
  kMissing,    ///< a library, device or provider is not there
};

constexpr const char* code_name(Code code) noexcept {
  switch (code) {
    case Code::kSystem: return "system error";
    case Code::kInternal: return "internal error";
    case Code::kArgument: return "invalid argument";
    case Code::kUsage: return "invalid usage";
    case Code::kRemote: return "remote error";
    case Code::kTruncated: return "message truncated";
    case Code::kTimeout: return "timed out";
    case Code::kMissing: return "not found";
  }
  return "unknown error";
}

/// One failure: the kind, the errno-like number where there is one (positive, 0 if none), and a sentence that
/// says what failed, on which device or peer, and what the user should do.
struct Error {
  Code code;
  int number = 0;
  std::string what;
  bool logged = false;  ///< the user has been told, where the cause was known; nobody above says it again
};

template <class T>
using Result = std::expected<T, Error>;
using Status = std::expected<void, Error>;

inline std::unexpected<Error> fail(Code code, int number, std::string what) {
  return std::unexpected(Error{code, number, std::move(what), false});
}
inline std::unexpected<Error> fail(Code code, std::string what) { return fail(code, 0, std::move(what)); }

}  // namespace weft

#define WEFT_CONCAT_INNER(a, b) a##b
#define WEFT_CONCAT(a, b) WEFT_CONCAT_INNER(a, b)

/// TRY(auto x, f()): x becomes the value of f(), or the enclosing function returns f()'s error.
#define TRY(declaration, expression) TRY_IMPL(declaration, expression, WEFT_CONCAT(weft_try_, __LINE__))
#define TRY_IMPL(declaration, expression, result)                 \
  auto result = (expression);                                     \
  if (!result) return std::unexpected(std::move(result).error()); \
  declaration = std::move(*result)

/// TRY_VOID(f()): the enclosing function returns f()'s error, if any.
#define TRY_VOID(expression)                                                                                   \
  do {                                                                                                         \
    if (auto weft_status = (expression); !weft_status) return std::unexpected(std::move(weft_status).error()); \
  } while (false)
