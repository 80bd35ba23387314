#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace weft::emulation {

// One point in a stream: signalled once, by the stream's thread; any thread may wait.
class Fence {
 public:
  using Clock = std::chrono::steady_clock;

  void signal() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
      time_ = Clock::now();
    }
    signalled_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    signalled_.wait(lock, [this] { return done_; });
  }
  bool done() {
    const std::lock_guard lock(mutex_);
    return done_;
  }
  // When it was signalled.
  Clock::time_point time() {
    const std::lock_guard lock(mutex_);
    return time_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable signalled_;
  bool done_ = false;
  Clock::time_point time_;
};

}  // namespace weft::emulation
