#include "tests/emulation/efa/schedule.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

#include "tests/emulation/efa/queue_pair.h"
#include "tests/emulation/efa/random.h"
#include "tests/emulation/efa/wire.h"

namespace weft::emulation::efa {
namespace {

bool is_later(const Operation& a, const Operation& b) {
  return a.due_ns != b.due_ns ? a.due_ns > b.due_ns : a.order > b.order;
}

}  // namespace

void Schedule::add(const Operation& operation) {
  const std::lock_guard guard(mutex_);
  if (!operation.pair->wire().is_closing) push(operation);
}

void Schedule::push(const Operation& operation) {
  heap_.push_back(operation);
  heap_.back().order = order_++;
  std::push_heap(heap_.begin(), heap_.end(), is_later);
  operation.pair->nic().counters.deferred++;
  changed();
}

std::optional<Operation> Schedule::add_to_window(const Operation& operation, uint64_t size, uint64_t hold_ns) {
  const std::lock_guard guard(mutex_);
  QueuePair& pair = *operation.pair;
  QueuePair::Wire& wire = pair.wire();
  wire.window.push_back(operation);
  if (wire.window.size() == 1) {
    wire.window_due_ns = now_ns() + hold_ns;
    windows_.push_back(&pair);
    changed();
  }
  if (wire.window.size() <= size) return {};
  const Operation out = take_from_window(pair);
  if (out.due_ns > now_ns()) {
    push(out);
    return {};
  }
  wire.executing++;
  return out;
}

// The window must hold something.
Operation Schedule::take_from_window(QueuePair& pair) {
  std::vector<Operation>& window = pair.wire().window;
  const size_t index = random_below(window.size());
  if (index != 0) pair.nic().counters.reordered++;
  const Operation out = window[index];
  window.erase(window.begin() + static_cast<ptrdiff_t>(index));
  if (window.empty()) std::erase(windows_, &pair);
  return out;
}

std::optional<Operation> Schedule::take_due() {
  const std::lock_guard guard(mutex_);
  for (;;) {
    const uint64_t now = now_ns();
    if (!heap_.empty() && heap_.front().due_ns <= now) {
      std::pop_heap(heap_.begin(), heap_.end(), is_later);
      const Operation out = heap_.back();
      heap_.pop_back();
      out.pair->wire().executing++;
      changed();
      return out;
    }
    const auto due = std::find_if(windows_.begin(), windows_.end(),
                                  [&](QueuePair* pair) { return pair->wire().window_due_ns <= now; });
    if (due == windows_.end()) return {};
    QueuePair& pair = **due;
    const Operation out = take_from_window(pair);
    if (out.due_ns > now) {
      push(out);
      continue;
    }
    pair.wire().executing++;
    changed();
    return out;
  }
}

void Schedule::done(const Operation& operation) { operation.pair->wire().executing--; }

void Schedule::forget(QueuePair& pair) {
  {
    const std::lock_guard guard(mutex_);
    pair.wire().is_closing = true;
    std::erase_if(heap_, [&](const Operation& operation) { return operation.pair == &pair; });
    std::make_heap(heap_.begin(), heap_.end(), is_later);
    std::erase(windows_, &pair);
    pair.wire().window.clear();
    changed();
  }
  while (pair.wire().executing != 0) sched_yield();
}

// With the lock held, after every change of the heap or the windows.
void Schedule::changed() {
  uint64_t next = heap_.empty() ? kNever : heap_.front().due_ns;
  for (QueuePair* pair : windows_) next = std::min(next, pair->wire().window_due_ns);
  const uint64_t before = next_.exchange(next, std::memory_order_acq_rel);
  if (next == kNever) return;
  if (has_thread_) {
    if (next < before) earlier_.notify_one();
    return;
  }
  has_thread_ = true;
  // Signals of the program are not for this thread.
  sigset_t all, own;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &own);
  std::thread(&Schedule::run_thread, this).detach();
  pthread_sigmask(SIG_SETMASK, &own, nullptr);
}

void Schedule::run_thread() {
  pthread_setname_np(pthread_self(), "weft-efa-wire");
  std::unique_lock lock(mutex_);
  for (;;) {
    const uint64_t next = next_, now = now_ns();
    if (next == kNever) {
      earlier_.wait(lock);
    } else if (next > now) {
      earlier_.wait_for(lock, std::chrono::nanoseconds(next - now));
    } else {
      lock.unlock();
      wire_progress();
      lock.lock();
    }
  }
}

Schedule& schedule() {
  static auto& all = *new Schedule;
  return all;
}

}  // namespace weft::emulation::efa
