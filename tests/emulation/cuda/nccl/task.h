#pragma once

#include <coroutine>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

namespace weft::emulation::nccl {

// A part of a kernel that runs beside others on one thread: a chain of coroutines, of which the innermost waits.
struct Fiber {
  std::coroutine_handle<> innermost;
  bool done = false;
};

// A coroutine that another awaits, or that begins a fiber. Owns its frame.
//
// GCC 12 destroys temporaries twice when a conditional operator has co_await operands: write if and else.
class Task {
 public:
  struct promise_type {
    struct Final {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> self) noexcept {
        promise_type& promise = self.promise();
        if (promise.awaiting) {
          promise.fiber->innermost = promise.awaiting;
          return promise.awaiting;
        }
        promise.fiber->done = true;
        return std::noop_coroutine();
      }
      void await_resume() noexcept {}
    };

    Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    Final final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }

    Fiber* fiber = nullptr;
    std::coroutine_handle<promise_type> awaiting;
  };

  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  void begin(Fiber* fiber) {
    handle_.promise().fiber = fiber;
    fiber->innermost = handle_;
  }

  bool await_ready() { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> awaiting) {
    handle_.promise().awaiting = awaiting;
    begin(awaiting.promise().fiber);
    return handle_;
  }
  void await_resume() {}

 private:
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}

  std::coroutine_handle<promise_type> handle_;
};

// co_await kYield: lets the other fibers run.
inline constexpr std::suspend_always kYield{};

// Runs fibers in turn on the calling thread, until all are done.
class Scheduler {
 public:
  Scheduler() = default;
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // The fiber lives as long as the scheduler.
  Fiber* spawn(Task task);
  // Data moved: look again soon.
  void progressed() { progress_ = true; }
  void run();

 private:
  struct Entry {
    explicit Entry(Task&& begun) : task(std::move(begun)) { task.begin(&fiber); }
    Fiber fiber;
    Task task;
  };

  std::vector<std::unique_ptr<Entry>> entries_;
  bool progress_ = false;
};

}  // namespace weft::emulation::nccl
