#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "tests/emulation/efa/operation.h"

namespace weft::emulation::efa {

// What is on its way: work requests by the time they are due, and the reorder windows of queue pairs. Any thread.
class Schedule {
 public:
  static constexpr uint64_t kNever = UINT64_MAX;

  // When the next work request is due.
  uint64_t next_ns() const { return next_.load(std::memory_order_acquire); }
  // At operation.due_ns. Dropped when its queue pair is closing.
  void add(const Operation& operation);
  // Into the window of its queue pair, which holds `size` for up to `hold_ns`. Returns the one that a full window lets
  // go, to be executed now: the caller then ends it with done().
  std::optional<Operation> add_to_window(const Operation& operation, uint64_t size, uint64_t hold_ns);
  // One that is due, to be executed now and ended with done().
  std::optional<Operation> take_due();
  static void done(const Operation& operation);
  void forget(QueuePair& pair);

 private:
  Operation take_from_window(QueuePair& pair);
  void push(const Operation& operation);
  void changed();
  [[noreturn]] void run_thread();

  std::mutex mutex_;
  std::condition_variable earlier_;
  std::vector<Operation> heap_;      // by time, then by order of arrival
  std::vector<QueuePair*> windows_;  // queue pairs whose window holds something
  std::atomic<uint64_t> next_{kNever};
  uint64_t order_ = 0;
  bool has_thread_ = false;
};

// Never destroyed: its thread outlives main().
Schedule& schedule();

}  // namespace weft::emulation::efa
