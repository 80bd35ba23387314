// Sizes on the command line and the series of sizes a benchmark walks through.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weft/result.h"

namespace weft::bench {

/// Bytes from "8", "64K", "4M", "1G" (powers of 1024, either case). The error names the text and what is allowed.
Result<std::size_t> parse_size(std::string_view text);

/// The shortest text that parse_size() turns back into `bytes`: "4M", "1536".
std::string size_text(std::size_t bytes);

/// From `first` to `last`: times `factor` where it is above 1, else plus `step`. The same flags and meaning as
/// nccl-tests' -b -e -f -i. Fails on sizes that cannot be right, naming the flag.
Result<std::vector<std::size_t>> size_series(std::size_t first, std::size_t last, std::size_t factor, std::size_t step);

}  // namespace weft::bench
