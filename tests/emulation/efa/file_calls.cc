// The C library's calls that take a path, in front of its own ones: the program, and all libraries that it loads, see
// the emulated host's PCI and RDMA devices below /sys. chdir(), glob(), nftw() and direct system calls see the
// machine's.
#undef _FORTIFY_SOURCE  // its own definitions of these calls would be in the way

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "tests/emulation/efa/emulated_path.h"

#define WEFT_LIBC extern "C" __attribute__((visibility("default")))

namespace weft::emulation::efa {
namespace {

// The call of that name behind ours: a sanitizer's, the C library's. Looked up when it is needed, because other
// libraries make calls before any constructor of ours runs.
template <class Call>
class Next {
 public:
  constexpr explicit Next(const char* name) : name_(name) {}

  template <class... Arguments>
  auto operator()(Arguments... arguments) {
    Call* call = call_.load(std::memory_order_relaxed);
    if (call == nullptr) {
      call = reinterpret_cast<Call*>(dlsym(RTLD_NEXT, name_));
      call_.store(call, std::memory_order_relaxed);
    }
    return call(arguments...);
  }

 private:
  const char* name_;
  std::atomic<Call*> call_{nullptr};
};

using Open = int(const char*, int, ...);
using OpenAt = int(int, const char*, int, ...);
using OpenStream = FILE*(const char*, const char*);
using Stat = int(const char*, struct stat*);
using StatAt = int(int, const char*, struct stat*, int);
using Filter = int(const dirent*);
using Compare = int(const dirent**, const dirent**);

constinit Next<Open> next_open("open");
constinit Next<OpenAt> next_openat("openat");
constinit Next<OpenStream> next_fopen("fopen");
constinit Next<DIR*(const char*)> next_opendir("opendir");
constinit Next<int(const char*, dirent***, Filter*, Compare*)> next_scandir("scandir");
constinit Next<char*(const char*, char*)> next_realpath("realpath");
constinit Next<ssize_t(const char*, char*, size_t)> next_readlink("readlink");
constinit Next<ssize_t(int, const char*, char*, size_t)> next_readlinkat("readlinkat");
constinit Next<Stat> next_stat("stat"), next_lstat("lstat");
constinit Next<StatAt> next_fstatat("fstatat");
constinit Next<int(int, const char*, int, unsigned, struct statx*)> next_statx("statx");
constinit Next<int(const char*, int)> next_access("access");
constinit Next<int(int, const char*, int, int)> next_faccessat("faccessat");
constinit Next<ssize_t(const char*, const char*, void*, size_t)> next_getxattr("getxattr"), next_lgetxattr("lgetxattr");

// Then the file's mode is among the arguments.
bool makes_file(int flags) { return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE; }

}  // namespace
}  // namespace weft::emulation::efa

using namespace weft::emulation::efa;

static_assert(sizeof(off_t) == sizeof(off64_t), "the calls whose names end with 64 are the same calls");

WEFT_LIBC int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = makes_file(flags) ? va_arg(more, mode_t) : 0;
  va_end(more);
  return next_open(EmulatedPath(path).get(), flags, mode);
}
WEFT_LIBC int openat(int folder, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = makes_file(flags) ? va_arg(more, mode_t) : 0;
  va_end(more);
  return next_openat(folder, EmulatedPath(folder, path).get(), flags, mode);
}
WEFT_LIBC int open64(const char* path, int flags, ...) __attribute__((alias("open")));
WEFT_LIBC int openat64(int folder, const char* path, int flags, ...) __attribute__((alias("openat")));

WEFT_LIBC FILE* fopen(const char* path, const char* mode) { return next_fopen(EmulatedPath(path).get(), mode); }
WEFT_LIBC FILE* fopen64(const char* path, const char* mode) __attribute__((alias("fopen")));

WEFT_LIBC DIR* opendir(const char* path) { return next_opendir(EmulatedPath(path).get()); }
WEFT_LIBC int scandir(const char* path, dirent*** names, Filter* filter, Compare* compare) {
  return next_scandir(EmulatedPath(path).get(), names, filter, compare);
}
WEFT_LIBC int scandir64(const char*, dirent64***, int (*)(const dirent64*), int (*)(const dirent64**, const dirent64**))
    __attribute__((alias("scandir")));

WEFT_LIBC char* realpath(const char* path, char* resolved) noexcept {
  const EmulatedPath emulated(path);
  char* real = next_realpath(emulated.get(), resolved);
  if (real != nullptr) emulated.hide_root(real);
  return real;
}
WEFT_LIBC char* canonicalize_file_name(const char* path) noexcept { return realpath(path, nullptr); }

WEFT_LIBC ssize_t readlink(const char* path, char* text, size_t room) noexcept {
  return next_readlink(EmulatedPath(path).get(), text, room);
}
WEFT_LIBC ssize_t readlinkat(int folder, const char* path, char* text, size_t room) noexcept {
  return next_readlinkat(folder, EmulatedPath(folder, path).get(), text, room);
}

WEFT_LIBC int stat(const char* path, struct stat* status) noexcept {
  return next_stat(EmulatedPath(path).get(), status);
}
WEFT_LIBC int lstat(const char* path, struct stat* status) noexcept {
  return next_lstat(EmulatedPath(path).get(), status);
}
WEFT_LIBC int fstatat(int folder, const char* path, struct stat* status, int flags) noexcept {
  return next_fstatat(folder, EmulatedPath(folder, path).get(), status, flags);
}
WEFT_LIBC int stat64(const char*, struct stat64*) noexcept __attribute__((alias("stat")));
WEFT_LIBC int lstat64(const char*, struct stat64*) noexcept __attribute__((alias("lstat")));
WEFT_LIBC int fstatat64(int, const char*, struct stat64*, int) noexcept __attribute__((alias("fstatat")));
WEFT_LIBC int statx(int folder, const char* path, int flags, unsigned mask, struct statx* status) noexcept {
  return next_statx(folder, EmulatedPath(folder, path).get(), flags, mask, status);
}

WEFT_LIBC int access(const char* path, int mode) noexcept { return next_access(EmulatedPath(path).get(), mode); }
WEFT_LIBC int faccessat(int folder, const char* path, int mode, int flags) noexcept {
  return next_faccessat(folder, EmulatedPath(folder, path).get(), mode, flags);
}

// ls -l asks for these.
WEFT_LIBC ssize_t getxattr(const char* path, const char* name, void* value, size_t room) noexcept {
  return next_getxattr(EmulatedPath(path).get(), name, value, room);
}
WEFT_LIBC ssize_t lgetxattr(const char* path, const char* name, void* value, size_t room) noexcept {
  return next_lgetxattr(EmulatedPath(path).get(), name, value, room);
}

// NOLINTBEGIN(readability-identifier-naming): the C library's names.
// What a program calls that was built with _FORTIFY_SOURCE. The emulator checks no sizes.
WEFT_LIBC int __open_2(const char* path, int flags) { return open(path, flags); }
WEFT_LIBC int __open64_2(const char* path, int flags) { return open(path, flags); }
WEFT_LIBC int __openat_2(int folder, const char* path, int flags) { return openat(folder, path, flags); }
WEFT_LIBC int __openat64_2(int folder, const char* path, int flags) { return openat(folder, path, flags); }
WEFT_LIBC char* __realpath_chk(const char* path, char* resolved, size_t) { return realpath(path, resolved); }
WEFT_LIBC ssize_t __readlink_chk(const char* path, char* text, size_t room, size_t) {
  return readlink(path, text, room);
}
WEFT_LIBC ssize_t __readlinkat_chk(int folder, const char* path, char* text, size_t room, size_t) {
  return readlinkat(folder, path, text, room);
}

// What a program calls that was built with a C library before 2.33. The version is that of the structure: there is one.
WEFT_LIBC int __xstat(int, const char* path, struct stat* status) { return stat(path, status); }
WEFT_LIBC int __lxstat(int, const char* path, struct stat* status) { return lstat(path, status); }
WEFT_LIBC int __fxstatat(int, int folder, const char* path, struct stat* status, int flags) {
  return fstatat(folder, path, status, flags);
}
WEFT_LIBC int __xstat64(int, const char*, struct stat64*) __attribute__((alias("__xstat")));
WEFT_LIBC int __lxstat64(int, const char*, struct stat64*) __attribute__((alias("__lxstat")));
WEFT_LIBC int __fxstatat64(int, int, const char*, struct stat64*, int) __attribute__((alias("__fxstatat")));
// NOLINTEND(readability-identifier-naming)
