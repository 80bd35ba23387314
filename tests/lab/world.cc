#include "tests/lab/world.h"

#include <sys/mman.h>

#include "tests/lab/check.h"

namespace weft::lab {

int World::create() {
  const int fd = memfd_create("weft-nccl-test", 0);
  if (fd < 0 || ftruncate(fd, sizeof(World)) != 0) fail("memfd", "no shared page");
  return fd;
}

World* World::open(int fd) {
  void* page = mmap(nullptr, sizeof(World), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) fail("mmap", "no shared page");
  return static_cast<World*>(page);
}

void meet(World& world, int barrier, int processes) {
  ++world.arrived[barrier];
  wait_until([&] { return world.arrived[barrier] >= processes; });
}

}  // namespace weft::lab
