// Files of /sys as a program on an emulated host sees them. The host has two NICs and no GPU, at their default places.
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace weft::emulation::efa {
namespace {

constexpr char kByAddress[] = "/sys/bus/pci/devices/0000:45:00.0";
constexpr char kPlace[] = "/sys/devices/pci0000:42/0000:42:01.0/0000:43:00.0/0000:44:00.0/0000:45:00.0";
constexpr char kMissing[] = "/sys/bus/pci/devices/0000:99:00.0";

std::string read_all(int fd) {
  char text[64];
  const ssize_t length = read(fd, text, sizeof text);
  close(fd);
  return length < 0 ? std::string() : std::string(text, static_cast<size_t>(length));
}
std::string read_all(FILE* file) {
  char text[64] = "";
  if (file == nullptr) return text;
  if (fgets(text, sizeof text, file) == nullptr) text[0] = '\0';
  fclose(file);
  return text;
}
std::string file_below(const char* folder, const char* name) { return std::string(folder) + "/" + name; }

std::string real(const char* path) {
  const std::unique_ptr<char, decltype(&free)> name(realpath(path, nullptr), free);
  return name != nullptr ? name.get() : "";
}

// What the kernel says, by a call that nothing can stand in front of.
bool is_kernels_own(const char* path, const struct stat& seen) {
  struct stat own{};
  return syscall(SYS_newfstatat, AT_FDCWD, path, &own, 0) == 0 && own.st_dev == seen.st_dev &&
         own.st_ino == seen.st_ino;
}

TEST(SysfsTest, NamesAreTheKernels) {
  EXPECT_EQ(real("/sys/class/pci_bus/0000:45/../../0000:45:00.0"), kPlace);
  EXPECT_EQ(real(kByAddress), kPlace);
  EXPECT_EQ(real("/sys/class/infiniband/efa_0/device"), kPlace);
  EXPECT_EQ(real(file_below(kPlace, "subsystem").c_str()), "/sys/bus/pci");
  EXPECT_EQ(real("/sys/class/pci_bus/0000:42/../.."), "/sys/devices/pci0000:42");
  char name[PATH_MAX];
  EXPECT_STREQ(realpath(kByAddress, name), kPlace);
  EXPECT_EQ(std::filesystem::canonical(kByAddress), kPlace);
  const std::unique_ptr<char, decltype(&free)> canonical(canonicalize_file_name(kByAddress), free);
  EXPECT_STREQ(canonical.get(), kPlace);
}

TEST(SysfsTest, LinksAreRelative) {
  char text[PATH_MAX] = "";
  ASSERT_GT(readlink(kByAddress, text, sizeof text - 1), 0);
  EXPECT_EQ(std::string("../../../devices") + (kPlace + sizeof "/sys/devices" - 1), text);
  char again[PATH_MAX] = "";
  ASSERT_GT(readlinkat(AT_FDCWD, kByAddress, again, sizeof again - 1), 0);
  EXPECT_STREQ(again, text);
}

TEST(SysfsTest, EveryWayToOpenFindsTheClass) {
  const std::string file = file_below(kByAddress, "class");
  const std::string network = "0x020000\n";
  EXPECT_EQ(read_all(open(file.c_str(), O_RDONLY)), network);
  EXPECT_EQ(read_all(open64(file.c_str(), O_RDONLY)), network);
  EXPECT_EQ(read_all(openat(AT_FDCWD, file.c_str(), O_RDONLY)), network);
  EXPECT_EQ(read_all(fopen(file.c_str(), "r")), network);
  EXPECT_EQ(read_all(fopen64(file.c_str(), "r")), network);
  std::string line;
  EXPECT_TRUE(std::getline(std::ifstream(file), line));
  EXPECT_EQ(line + "\n", network);
}

// As hwloc opens everything.
TEST(SysfsTest, PathsMayBeRelativeToTheRootFolder) {
  const int root = open("/", O_RDONLY | O_DIRECTORY), sys = open("/sys", O_RDONLY | O_DIRECTORY);
  const std::string file = file_below(kByAddress, "class");
  EXPECT_EQ(read_all(openat(root, file.c_str() + 1, O_RDONLY)), "0x020000\n");
  EXPECT_EQ(faccessat(root, kByAddress + 1, R_OK, 0), 0);
  // Of another folder the same words mean something else.
  EXPECT_EQ(faccessat(sys, kByAddress + 1, R_OK, 0), -1);
  close(root);
  close(sys);
}

TEST(SysfsTest, StatusIsThatOfTheTree) {
  struct stat link{}, folder{};
  EXPECT_EQ(lstat(kByAddress, &link), 0);
  EXPECT_TRUE(S_ISLNK(link.st_mode));
  EXPECT_EQ(stat(kByAddress, &folder), 0);
  EXPECT_TRUE(S_ISDIR(folder.st_mode));
  EXPECT_EQ(fstatat(AT_FDCWD, kByAddress, &link, 0), 0);
  EXPECT_EQ(link.st_ino, folder.st_ino);
  struct statx more{};
  EXPECT_EQ(statx(AT_FDCWD, kByAddress, 0, STATX_INO, &more), 0);
  EXPECT_EQ(more.stx_ino, folder.st_ino);
  EXPECT_EQ(access(kByAddress, R_OK), 0);
}

// Three bridges and a NIC, and a port and a NIC more.
TEST(SysfsTest, OnlyTheHostsDevicesAreListed) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/bus/pci/devices"))
    names.push_back(entry.path().filename());
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"0000:42:01.0", "0000:43:00.0", "0000:44:00.0", "0000:44:01.0",
                                             "0000:45:00.0", "0000:46:00.0"}));
  dirent** entries = nullptr;
  const int count = scandir("/sys/bus/pci/devices", &entries, nullptr, alphasort);
  EXPECT_EQ(count, 8) << "with . and ..";
  for (int i = 0; i < count; ++i) free(entries[i]);
  free(static_cast<void*>(entries));
}

TEST(SysfsTest, AMissingAddressIsNotThere) {
  struct stat status{};
  char text[PATH_MAX];
  const auto is_missing = [](bool failed) { return failed && errno == ENOENT; };
  EXPECT_TRUE(is_missing(open(kMissing, O_RDONLY) == -1));
  EXPECT_TRUE(is_missing(fopen(kMissing, "r") == nullptr));
  EXPECT_TRUE(is_missing(opendir(kMissing) == nullptr));
  EXPECT_TRUE(is_missing(realpath(kMissing, text) == nullptr));
  EXPECT_TRUE(is_missing(readlink(kMissing, text, sizeof text) == -1));
  EXPECT_TRUE(is_missing(stat(kMissing, &status) == -1));
  EXPECT_TRUE(is_missing(access(kMissing, F_OK) == -1));
}

TEST(SysfsTest, EverythingElseIsTheMachines) {
  for (const char* path : {"/", "/sys", "/sys/bus", "/sys/class", "/sys/devices/system/cpu", "/proc/self", "/tmp"}) {
    struct stat seen{};
    EXPECT_EQ(stat(path, &seen), 0) << path;
    EXPECT_TRUE(is_kernels_own(path, seen)) << path;
    EXPECT_EQ(lstat(path, &seen), 0) << path;
    const int fd = open(path, O_RDONLY);
    EXPECT_EQ(fstat(fd, &seen), 0) << path;
    EXPECT_TRUE(is_kernels_own(path, seen)) << path;
    close(fd);
  }
  EXPECT_EQ(real("/proc/self"), file_below("/proc", std::to_string(getpid()).c_str()));
  // Names that only begin like one of ours.
  struct stat seen{};
  EXPECT_EQ(stat("/sys/bus/pci_express", &seen) == 0, syscall(SYS_access, "/sys/bus/pci_express", F_OK) == 0);
}

TEST(SysfsTest, ANewFileHasTheModeThatWasAsked) {
  std::string name = std::filesystem::temp_directory_path() / "weft-sysfs-test.XXXXXX";
  ASSERT_NE(mkdtemp(name.data()), nullptr);
  const std::string file = file_below(name.c_str(), "new");
  const int fd = open(file.c_str(), O_CREAT | O_WRONLY, 0600);
  struct stat status{};
  EXPECT_EQ(fstat(fd, &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  close(fd);
  std::filesystem::remove_all(name);
}

TEST(SysfsTest, ProcessorsNearANicAreTheMachines) {
  std::string near, machine;
  std::getline(std::ifstream(file_below(kByAddress, "local_cpulist")), near);
  std::getline(std::ifstream("/sys/devices/system/node/node0/cpulist"), machine);
  EXPECT_EQ(near, machine);
}

}  // namespace
}  // namespace weft::emulation::efa
