#include "bench/exchange.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace weft::bench {
namespace {

enum class Step : std::uint8_t { kNothing, kMoved, kFailed };

/// Finishes at most one message and starts as many as may be in flight.
Step advance(Transfer& transfer, std::size_t chunk) {
  Step step = Step::kNothing;
  switch (transfer.pipe->poll()) {
    case TestStatus::kFailed: return Step::kFailed;
    case TestStatus::kDone:
      transfer.done += std::min(chunk, transfer.bytes - transfer.done);
      step = Step::kMoved;
      break;
    case TestStatus::kPending: break;
  }
  while (transfer.posted < transfer.bytes) {
    const std::size_t size = std::min(chunk, transfer.bytes - transfer.posted);
    const PostStatus status = transfer.pipe->post(transfer.region, transfer.data + transfer.posted, size);
    if (status == PostStatus::kFailed) return Step::kFailed;
    if (status == PostStatus::kAgain) break;
    transfer.posted += size;
    step = Step::kMoved;
  }
  return step;
}

}  // namespace

Status exchange(std::span<Transfer> transfers, std::size_t chunk, Idle& idle) {
  std::vector<Transfer*> open;
  for (Transfer& transfer : transfers) {
    transfer.posted = transfer.done = 0;
    if (transfer.bytes > 0) open.push_back(&transfer);
  }
  while (!open.empty()) {
    bool moved = false;
    for (Transfer* transfer : open) {
      const Step step = advance(*transfer, chunk);
      if (step == Step::kFailed) return std::unexpected(transfer->pipe->error());
      moved |= step == Step::kMoved;
    }
    if (moved) {
      std::erase_if(open, [](const Transfer* transfer) { return transfer->done == transfer->bytes; });
      idle.moved();
    } else if (!idle.keep_waiting()) {
      return std::unexpected(idle.error(open.front()->pipe->what()));
    }
  }
  return {};
}

}  // namespace weft::bench
