#pragma once

#include <atomic>
#include <cstdint>

#include "tests/emulation/efa/context.h"
#include "tests/emulation/efa/shared_queues.h"
#include "tests/emulation/efa/verbs.h"

namespace weft::emulation::efa {

class CompletionQueue {
 public:
  // nullptr, and errno: refused.
  static CompletionQueue* create(ibv_context* context, uint32_t size, void* user, ibv_comp_channel* channel);
  ~CompletionQueue();

  static CompletionQueue* of(ibv_cq* queue) { return reinterpret_cast<CompletionQueue*>(queue); }
  static CompletionQueue* of(ibv_cq_ex* queue) { return reinterpret_cast<CompletionQueue*>(queue); }
  static CompletionQueue* of(efadv_cq* queue);

  ibv_cq_ex* verbs() { return &verbs_; }
  efadv_cq* device_verbs() { return &device_verbs_; }
  uint64_t id() const { return id_; }
  CompletionRing& ring() { return *ring_; }

  // One poller at a time, from start to end.
  int start();
  // Takes the next completion: 0, ENOENT, or EINVAL for one of a queue pair that is gone. libfabric drains a queue that
  // way after it destroyed a queue pair.
  int next();
  void end() { polled_.clear(std::memory_order_release); }
  const Completion& current() const { return current_; }

 private:
  CompletionQueue() = default;

  ibv_cq_ex verbs_{};  // first: handed out, also as an ibv_cq
  efadv_cq device_verbs_{};
  Context* context_ = nullptr;
  uint64_t id_ = 0;
  CompletionRing* ring_ = nullptr;
  std::atomic_flag polled_ = ATOMIC_FLAG_INIT;
  Completion current_{};
};

// What a completion of that status and kind is called in libibverbs.
ibv_wc_status verbs_status(CompletionStatus status);
ibv_wc_opcode verbs_opcode(const Completion& completion);

}  // namespace weft::emulation::efa
