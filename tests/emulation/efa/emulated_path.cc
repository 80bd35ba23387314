#include "tests/emulation/efa/emulated_path.h"

#include <sys/stat.h>

#include <cstring>
#include <string_view>

#include "tests/emulation/efa/settings.h"
#include "tests/emulation/efa/sysfs.h"

namespace weft::emulation::efa {
namespace {

constexpr std::string_view kSys = "sys/";
// Folders below it, and the beginning of folders' names: of the roots of PCI, pci0000:00 and so on.
constexpr std::string_view kFolders[] = {"bus/pci", "class/infiniband", "class/infiniband_verbs", "class/pci_bus"};
constexpr std::string_view kRoots = "devices/pci";
// Where a machine says what it is; emulated where the settings say so.
constexpr std::string_view kProduct = "devices/virtual/dmi/id";

// Of a path without the slash at its beginning.
bool is_emulated(const char* path) {
  if (strncmp(path, kSys.data(), kSys.size()) != 0) return false;
  const std::string_view place(path + kSys.size());
  if (place.starts_with(kRoots)) return true;
  if (place.starts_with(kProduct)) return !settings().product.empty();
  for (const std::string_view folder : kFolders)
    if (place.starts_with(folder) && (place.size() == folder.size() || place[folder.size()] == '/')) return true;
  return false;
}

bool is_root_folder(int folder) {
  struct stat root{}, asked{};
  return fstat(folder, &asked) == 0 && stat("/", &root) == 0 && asked.st_dev == root.st_dev &&
         asked.st_ino == root.st_ino;
}

}  // namespace

EmulatedPath::EmulatedPath(int folder, const char* asked) : path_(asked) {
  if (asked == nullptr) return;
  const bool absolute = *asked == '/';
  if (!absolute && folder == AT_FDCWD) return;
  const char* below_root = absolute ? asked + 1 : asked;
  if (!is_emulated(below_root) || (!absolute && !is_root_folder(folder))) return;
  const std::string_view root = sysfs_root(), path = below_root;
  // The call then fails for the same reason.
  if (root.size() + 1 + path.size() >= sizeof emulated_) return;
  memcpy(emulated_, root.data(), root.size());
  emulated_[root.size()] = '/';
  memcpy(emulated_ + root.size() + 1, path.data(), path.size() + 1);
  path_ = emulated_;
}

void EmulatedPath::hide_root(char* real) const {
  if (path_ != emulated_) return;
  const std::string_view root = sysfs_root(), path = real;
  if (path.starts_with(root)) memmove(real, real + root.size(), path.size() - root.size() + 1);
}

}  // namespace weft::emulation::efa
