// Many transfers at once, to and from many peers, each cut into chunks.
#pragma once

#include <cstddef>
#include <span>

#include "bench/idle.h"
#include "bench/pipe.h"
#include "weft/result.h"

namespace weft::bench {

/// One direction of one pair of ranks: `bytes` at `data` inside the pipe's region, sent or received as the pipe does.
struct Transfer {
  Pipe* pipe = nullptr;
  int region = 0;
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::size_t posted = 0;  ///< bytes handed to the plugin
  std::size_t done = 0;    ///< bytes it has finished
};

/// Runs all transfers to their end, in messages of at most `chunk` bytes. A transfer of no bytes sends no message.
Status exchange(std::span<Transfer> transfers, std::size_t chunk, Idle& idle);

}  // namespace weft::bench
