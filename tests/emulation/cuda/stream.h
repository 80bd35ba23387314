#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "tests/emulation/cuda/fence.h"

namespace weft::emulation {

class Context;

// A CUDA stream: a thread that runs what was enqueued, in order. The thread starts with the first operation. The
// destructor finishes the work.
class Stream {
 public:
  Stream(Context& context, bool blocking, int priority);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  Context& context() const { return context_; }
  bool blocking() const { return blocking_; }
  int priority() const { return priority_; }
  uint64_t id() const { return id_; }

  // Adds an operation, after those of the streams that CUDA's rules put before it.
  void enqueue(std::function<void()> operation);
  // A fence behind what was enqueued so far; already signalled when there was nothing ever.
  std::shared_ptr<Fence> fence();
  // The same for an event: behind the work that the next operation here would wait for, too.
  std::shared_ptr<Fence> event_fence();
  void drain() { fence()->wait(); }

 private:
  void push(std::function<void()> operation);
  void run();

  Context& context_;
  const bool blocking_;
  const int priority_;
  const uint64_t id_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> operations_;
  bool stop_ = false;
  std::thread thread_;
};

// An event: the fence of its last record, or none.
class Event {
 public:
  void record(std::shared_ptr<Fence> fence) {
    const std::lock_guard lock(mutex_);
    fence_ = std::move(fence);
  }
  std::shared_ptr<Fence> fence() {
    const std::lock_guard lock(mutex_);
    return fence_;
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<Fence> fence_;
};

}  // namespace weft::emulation
