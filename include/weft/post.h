// The values of the hot path: what became of a post, and of a request that was asked about.
#pragma once

#include <cstdint>

namespace weft {

/// "Try again" is a value, not an error: the caller keeps its data and calls again later.
enum class PostStatus : std::uint8_t { kPosted, kAgain, kFailed };

enum class TestStatus : std::uint8_t { kPending, kDone, kFailed };

}  // namespace weft
