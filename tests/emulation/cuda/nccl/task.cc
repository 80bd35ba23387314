#include "tests/emulation/cuda/nccl/task.h"

#include <sched.h>

#include <chrono>
#include <thread>

namespace weft::emulation::nccl {
namespace {
// A stream's thread that waits leaves the core to NCCL's proxy threads first, then sleeps between looks.
constexpr int kEagerLooks = 200;
constexpr std::chrono::microseconds kPause{20};
}  // namespace

Fiber* Scheduler::spawn(Task task) {
  progress_ = true;
  return &entries_.emplace_back(std::make_unique<Entry>(std::move(task)))->fiber;
}

void Scheduler::run() {
  for (int idle = 0;;) {
    progress_ = false;
    bool left = false;
    // By index: a fiber may spawn others.
    for (size_t i = 0; i < entries_.size(); ++i) {  // NOLINT(modernize-loop-convert)
      Fiber& fiber = entries_[i]->fiber;
      if (fiber.done) continue;
      left = true;
      fiber.innermost.resume();
    }
    if (!left) return;
    if (progress_) {
      idle = 0;
    } else if (++idle < kEagerLooks) {
      sched_yield();
    } else {
      std::this_thread::sleep_for(kPause);
    }
  }
}

}  // namespace weft::emulation::nccl
