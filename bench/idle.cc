#include "bench/idle.h"

#include <sched.h>

#include "bench/text.h"

namespace weft::bench {
namespace {

constexpr auto kLookInterval = std::chrono::milliseconds(20);
// How long the plugin may take to report a dead neighbour by itself. Together with the launcher's own limit this
// keeps the end of a run below 10 s.
constexpr auto kPluginGrace = std::chrono::seconds(5);

}  // namespace

bool Idle::wait_slowly() {
  sched_yield();
  const auto now = Clock::now();
  if (empty_polls_ == spins_) {
    since_ = now;
    next_look_ = now + kLookInterval;
  }
  // Counting on without end would wrap around to a fresh start.
  empty_polls_ = spins_ + 1;
  if (now - since_ >= limit_) return false;
  if (now >= next_look_) {
    next_look_ = now + kLookInterval;
    if (!failure_ && rendezvous_->failure()) {
      failure_ = rendezvous_->failure();
      noticed_ = now;
    }
    if (failure_) {
      const bool neighbour = failure_->rank >= 0 && neighbours_[static_cast<std::size_t>(failure_->rank)];
      return neighbour && now - noticed_ < kPluginGrace;
    }
  }
  return true;
}

Error Idle::error(const std::string& waiting_for) const {
  if (failure_) return Error{Code::kRemote, 0, waiting_for + " stopped: " + failure_->what};
  const double seconds = std::chrono::duration<double>(limit_).count();
  return Error{Code::kTimeout, 0, text("nothing moved for %g s: %s hangs", seconds, waiting_for.c_str())};
}

bool is_oversubscribed(int local_ranks) {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) return false;
  return local_ranks > CPU_COUNT(&cores);
}

}  // namespace weft::bench
