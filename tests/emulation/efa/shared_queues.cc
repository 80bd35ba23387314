#include "tests/emulation/efa/shared_queues.h"

#include <fcntl.h>
#include <unistd.h>

#include <mutex>
#include <string>

namespace weft::emulation::efa {

bool ReceiveQueue::take(PostedReceive* receive) {
  const std::lock_guard guard(lock);
  if (head == tail) return false;
  *receive = entries[head++ % depth];
  return true;
}

void CompletionRing::push(const Completion& completion, Counters& counters) {
  {
    const std::lock_guard guard(lock);
    const uint32_t at = tail.load(std::memory_order_relaxed);
    if (at - head.load(std::memory_order_acquire) >= depth) {
      // Guess: a real device reports an asynchronous error and stops the queue.
      counters.overruns++;
      return;
    }
    entries[at % depth] = completion;
    tail.store(at + 1, std::memory_order_release);
  }
  if (armed.load(std::memory_order_acquire) != 0 && armed.exchange(0) != 0) notify();
}

void CompletionRing::notify() const {
  if (notify_fd < 0) return;
  const bool own = pid == getpid();
  // The pipe of another process is reached through its descriptor.
  const std::string path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(notify_fd);
  const int fd = own ? notify_fd : open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return;
  // A full pipe wakes the owner as well.
  [[maybe_unused]] const ssize_t written = write(fd, &notify_cookie, sizeof notify_cookie);
  if (!own) close(fd);
}

}  // namespace weft::emulation::efa
