#include "tests/emulation/efa/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <ctime>
#include <utility>

namespace weft::emulation::efa {
namespace {

constexpr int kSizingPatienceMs = 1000;

// Never destroyed: threads of the host program may still be in here when main() has returned.
std::string& current_domain() {
  static auto& name = *new std::string("default");
  return name;
}

// The creator sizes the object a moment after it made it.
off_t size_of(int fd) {
  struct stat status{};
  for (int i = 0; i < kSizingPatienceMs; ++i) {
    if (fstat(fd, &status) == 0 && status.st_size > 0) return status.st_size;
    usleep(1000);
  }
  return 0;
}

}  // namespace

const std::string& domain() { return current_domain(); }
void set_domain(std::string name) { current_domain() = std::move(name); }

std::string shared_name(const std::string& suffix) { return "/weft-efa." + domain() + "." + suffix; }

void* map_shared(const std::string& suffix, size_t size, bool create, bool* created) {
  const std::string name = shared_name(suffix);
  int fd = -1;
  bool made = false;
  if (create) {
    fd = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    made = fd >= 0;
    if (made && ftruncate(fd, static_cast<off_t>(size)) != 0) {
      close(fd);
      shm_unlink(name.c_str());
      return nullptr;
    }
  }
  if (fd < 0) fd = shm_open(name.c_str(), O_RDWR, 0600);
  if (fd < 0) return nullptr;
  const off_t there = size_of(fd);
  if (size == 0) size = static_cast<size_t>(there);
  void* address = static_cast<size_t>(there) < size || size == 0
                      ? MAP_FAILED
                      : mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (created != nullptr) *created = made;
  return address == MAP_FAILED ? nullptr : address;
}

void unlink_shared(const std::string& suffix) { shm_unlink(shared_name(suffix).c_str()); }

uint64_t next_object_id() {
  static std::atomic<uint32_t> next{1};
  return static_cast<uint64_t>(getpid()) << 32 | next++;
}

uint64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

void SharedLock::init() {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&mutex_, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

void SharedLock::lock() {
  if (pthread_mutex_lock(&mutex_) == EOWNERDEAD) pthread_mutex_consistent(&mutex_);
}

}  // namespace weft::emulation::efa
