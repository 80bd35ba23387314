#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tests/emulation/efa/completion_status.h"
#include "tests/emulation/efa/shared_device.h"
#include "tests/emulation/efa/shared_memory.h"

namespace weft::emulation::efa {

struct Segment {
  uint64_t address;
  uint32_t length, key;
};

struct PostedReceive {
  uint64_t id;
  uint32_t segment_count;
  Segment segments[kMaxSegments];
};

// The posted receives of one queue pair. Whoever sends takes them out.
struct ReceiveQueue {
  SharedLock lock;
  uint32_t depth, head, tail;  // free running, under the lock
  PostedReceive entries[];

  static size_t bytes(uint32_t depth) { return sizeof(ReceiveQueue) + depth * sizeof(PostedReceive); }
  bool is_full() const { return tail - head >= depth; }
  void push(const PostedReceive& receive) { entries[tail++ % depth] = receive; }
  // Takes the lock itself.
  bool take(PostedReceive* receive);
};

enum class OperationKind : uint8_t { kSend = 0, kRead = 1, kWrite = 2 };

struct Completion {
  uint64_t id;
  uint32_t pair, source_pair, length, immediate;
  CompletionStatus status;
  OperationKind kind;
  bool is_receive, has_immediate, unsolicited;
  uint16_t address_handle;
  Gid source;
};

// The completions of one queue. Any process of the rig adds, the owner alone takes.
struct CompletionRing {
  SharedLock lock;  // of those who add
  uint32_t depth;
  std::atomic<uint32_t> head, tail;  // free running
  std::atomic<uint32_t> armed;       // the owner waits on its channel
  pid_t pid;
  int notify_fd;
  uint64_t notify_cookie;
  Completion entries[];

  static size_t bytes(uint32_t depth) { return sizeof(CompletionRing) + depth * sizeof(Completion); }
  // A full ring loses it, and the counter of the NIC says so.
  void push(const Completion& completion, Counters& counters);
  bool is_empty() const { return head.load(std::memory_order_relaxed) == tail.load(std::memory_order_acquire); }
  void notify() const;
};

}  // namespace weft::emulation::efa
