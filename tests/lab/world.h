#pragma once

#include <unistd.h>

#include <atomic>
#include <cstddef>

namespace weft::lab {

// What the processes of a test share: a page behind a descriptor that they inherit.
struct World {
  static constexpr size_t kIdBytes = 128;  // of ncclUniqueId
  static constexpr int kIds = 8;           // a communicator that is made anew has an id of its own

  struct Id {
    std::atomic<int> ready;
    char bytes[kIdBytes];
  };
  Id ids[kIds];
  std::atomic<int> arrived[kIds * 2];  // at barriers
  std::atomic<long> wrong;             // elements

  // A new page; the descriptor survives an exec.
  static int create();
  static World* open(int fd);
};

// Waits until the condition holds. The process's alarm is the limit.
template <class Condition>
void wait_until(Condition condition) {
  while (!condition()) usleep(500);
}

// Waits for `processes` of them to come here; each barrier is used once.
void meet(World& world, int barrier, int processes);

}  // namespace weft::lab
