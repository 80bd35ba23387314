#pragma once

#include <cstdint>

#include "tests/emulation/efa/shared_queues.h"

namespace weft::emulation::efa {

class QueuePair;

constexpr uint32_t kMaxInline = 32;

// One work request of a send queue, on its way from the post to its completion.
struct Operation {
  QueuePair* pair = nullptr;
  uint64_t id = 0;
  OperationKind kind = OperationKind::kSend;
  bool has_immediate = false, is_inline = false;
  CompletionStatus error = CompletionStatus::kOk;  // found while it was built
  uint32_t immediate = 0, length = 0;
  uint32_t segment_count = 0;
  Segment segments[kMaxSegments]{};
  uint8_t inline_data[kMaxInline]{};
  // The target.
  Gid gid{};
  uint32_t target_pair = 0, target_key = 0;
  uint32_t remote_key = 0;
  uint64_t remote_address = 0;
  // The wire's.
  uint64_t due_ns = 0, order = 0;
  uint32_t retries_left = 0, backoff_us = 0;

  // A message or an immediate: something that the target's program sees.
  bool is_announced() const { return kind == OperationKind::kSend || has_immediate; }
};

}  // namespace weft::emulation::efa
