#include "tests/emulation/cuda/stream.h"

#include <pthread.h>

#include <string>

#include "tests/emulation/cuda/context.h"

namespace weft::emulation {
namespace {
std::atomic<uint64_t> next_id{1};
}

Stream::Stream(Context& context, bool blocking, int priority)
    : context_(context), blocking_(blocking), priority_(priority), id_(next_id++) {}

Stream::~Stream() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    if (!thread_.joinable()) return;
  }
  changed_.notify_one();
  thread_.join();
}

void Stream::enqueue(std::function<void()> operation) {
  for (Stream* before : context_.predecessors(this)) {
    auto fence = before->fence();
    if (!fence->done()) push([fence] { fence->wait(); });
  }
  push(std::move(operation));
}

std::shared_ptr<Fence> Stream::fence() {
  auto fence = std::make_shared<Fence>();
  {
    const std::lock_guard lock(mutex_);
    if (!thread_.joinable()) {
      fence->signal();
      return fence;
    }
  }
  push([fence] { fence->signal(); });
  return fence;
}

std::shared_ptr<Fence> Stream::event_fence() {
  if (!context_.predecessors(this).empty()) enqueue([] {});
  return fence();
}

void Stream::push(std::function<void()> operation) {
  {
    const std::lock_guard lock(mutex_);
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    operations_.push_back(std::move(operation));
  }
  changed_.notify_one();
}

void Stream::run() {
  pthread_setname_np(pthread_self(), ("stream" + std::to_string(id_)).substr(0, 15).c_str());
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || !operations_.empty(); });
    if (operations_.empty()) return;
    auto operation = std::move(operations_.front());
    operations_.pop_front();
    lock.unlock();
    operation();
    operation = nullptr;  // what it holds is released without the lock
    lock.lock();
  }
}

}  // namespace weft::emulation
