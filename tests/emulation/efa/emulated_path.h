#pragma once

#include <fcntl.h>

#include <climits>

namespace weft::emulation::efa {

// The path that a program asks for, as the emulated host has it. What it says about PCI and RDMA devices, in parts of
// /sys that it has for itself, lies in the host's own tree; every other path is left as it is. The machine's own PCI
// devices are not there. For use around one call: it holds no memory, and keeps the pointer that it was given.
class EmulatedPath {
 public:
  explicit EmulatedPath(const char* asked) : EmulatedPath(AT_FDCWD, asked) {}
  // Relative to a folder, as for openat(). hwloc asks for everything relative to "/".
  EmulatedPath(int folder, const char* asked);
  EmulatedPath(const EmulatedPath&) = delete;
  EmulatedPath& operator=(const EmulatedPath&) = delete;

  const char* get() const { return path_; }

  // What realpath() made of it, in the program's own terms again: without the tree's root. In place.
  void hide_root(char* real) const;

 private:
  const char* path_;
  // Left alone until it is needed: nearly no call is for the tree.
  char emulated_[PATH_MAX];
};

}  // namespace weft::emulation::efa
