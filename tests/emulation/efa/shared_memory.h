#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace weft::emulation::efa {

// Everything that the processes of a rig share lies in POSIX shared memory, in objects named "weft-efa.<domain>.<...>".
// A domain is a rig of its own: its NICs see no others.
const std::string& domain();
void set_domain(std::string name);

std::string shared_name(const std::string& suffix);

// Maps an object; `size` 0 is all of it. With `create`, one that is not there is made, full of zeros, and `*created` is
// set. nullptr: not there, or no room.
void* map_shared(const std::string& suffix, size_t size, bool create, bool* created = nullptr);
void unlink_shared(const std::string& suffix);

// A number no other object of any process here has.
uint64_t next_object_id();

uint64_t now_ns();

// A lock between processes. One killed while it holds the lock does not stop the others.
class SharedLock {
 public:
  void init();
  void lock();
  void unlock() { pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t mutex_;
};

}  // namespace weft::emulation::efa
