// Starting, ending, unloading, and starting again.
#include <dirent.h>

#include <cstdlib>
#include <thread>

#include "tests/plugin/harness.h"

namespace weft::test {
namespace {

using nccl::ncclSuccess;

int entries_in(const char* folder) {
  int count = 0;
  DIR* const directory = opendir(folder);
  if (directory == nullptr) return -1;
  while (readdir(directory) != nullptr) ++count;
  closedir(directory);
  return count;
}

int open_files() { return entries_in("/proc/self/fd"); }
int threads() { return entries_in("/proc/self/task"); }

/// One life of the plugin: load, start, move data, end, unload.
void live_once(int version) {
  const PluginLibrary library;
  const auto net = make_net(library, version);
  ASSERT_NE(net, nullptr);
  ASSERT_EQ(net->init(capturing_logger()), ncclSuccess);
  {
    Connection connection(*net, *net);
    connection.transfer(pattern(10000, 1), 10000, 0);
  }
  EXPECT_EQ(net->finalize(), ncclSuccess);
}

void live_often(int version) {
  live_once(version);  // the first one opens libfabric, which stays
  const int files = open_files();
  const int running = threads();
  for (int i = 0; i < 5 && !::testing::Test::HasFailure(); ++i) live_once(version);
  EXPECT_EQ(open_files(), files);
  EXPECT_EQ(threads(), running);
  // ABIs without a finalize: the library must stay, or what it has opened could never be closed or found again.
  EXPECT_EQ(PluginLibrary::is_mapped(), version < 11);
  expect_no_other_warnings();
}

void check_banner(int version) {
  const PluginLibrary library;
  const auto net = make_net(library, version);
  ASSERT_EQ(net->init(capturing_logger()), ncclSuccess);
  std::string banner;
  for (const auto& line : captured_log()) {
    EXPECT_EQ(line.flags, static_cast<unsigned long>(nccl::NCCL_INIT | nccl::NCCL_NET));
    EXPECT_EQ(line.level, nccl::NCCL_LOG_INFO) << line.text;
    EXPECT_TRUE(line.text.starts_with("NET/Weft: ")) << line.text;
    banner += line.text + "\n";
  }
  const char* wanted = std::getenv("WEFT_PROTOCOL");
  const char* protocol = wanted != nullptr && std::string_view(wanted) == "rdma" ? "RDMA write" : "send/receive";
  for (const char* fact :
       {"libfabric 1.", "libfabric.so", "provider tcp", protocol, "device 0 is lo", "Mb/s", "host"}) {
    EXPECT_NE(banner.find(fact), std::string::npos) << fact << " is missing in\n" << banner;
  }
  EXPECT_EQ(net->finalize(), ncclSuccess);
}

class LifecycleTest : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Abi, LifecycleTest, ::testing::Range(kOldestVersion, kNewestVersion + 1), version_name);

TEST_P(LifecycleTest, UnloadAndLoadAgainLeavesNothing) { WEFT_IN_FRESH_PROCESS(live_often(GetParam())); }

TEST_P(LifecycleTest, BannerSaysWhatIsUsed) { WEFT_IN_FRESH_PROCESS(check_banner(GetParam())); }

class SharedLifecycleTest : public PluginTest {};

TEST_F(SharedLifecycleTest, StartAndEndManyTimesWithoutUnloading) {
  start(12)->finalize();
  const int files = open_files();
  for (int i = 0; i < 20; ++i) {
    const auto net = start(i % 2 == 0 ? 12 : 11);
    if (i % 5 == 0) Connection(*net, *net).transfer(pattern(100, 1), 100, 0);
    EXPECT_EQ(net->finalize(), ncclSuccess);
  }
  EXPECT_EQ(open_files(), files);
}

TEST_F(SharedLifecycleTest, CommunicatorsOfNcclShareTheDevices) {
  const auto first = start(12);
  const int files = open_files();
  std::vector<std::unique_ptr<Net>> others;
  for (int i = 0; i < 10; ++i) others.push_back(start(12));
  EXPECT_EQ(open_files(), files);
  // Ends are interchangeable between them, and outlive each other's end.
  Connection connection(*first, *others[3]);
  for (std::size_t i = 4; i < others.size(); ++i) {
    EXPECT_EQ(others[i]->finalize(), ncclSuccess);
  }
  connection.transfer(pattern(100000, 1), 100000, 0);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(others[i]->finalize(), ncclSuccess);
  }
  connection.transfer(pattern(100000, 2), 100000, 0);
  EXPECT_EQ(first->finalize(), ncclSuccess);
  connection.transfer(pattern(100000, 3), 100000, 0);
  EXPECT_EQ(others[3]->finalize(), ncclSuccess);
}

TEST_F(SharedLifecycleTest, OpenCommunicatorsKeepTheDevicesAfterTheLastFinalize) {
  start(12)->finalize();
  const int files = open_files();
  {
    const auto net = start(12);
    Connection connection(*net, *net);
    EXPECT_EQ(net->finalize(), ncclSuccess);
    connection.transfer(pattern(100000, 1), 100000, 0);
    // A new start joins them.
    const auto late = start(12);
    Connection(*late, *late).transfer(pattern(100, 1), 100, 0);
    EXPECT_EQ(late->finalize(), ncclSuccess);
  }
  EXPECT_EQ(open_files(), files) << "the last close did not close the devices";
}

TEST_F(SharedLifecycleTest, StartsFromManyThreads) {
  std::vector<std::thread> starters;
  for (int i = 0; i < 8; ++i) {
    starters.emplace_back([this] {
      for (int round = 0; round < 5; ++round) {
        const auto net = start(12);
        EXPECT_EQ(net->finalize(), ncclSuccess);
      }
    });
  }
  for (auto& starter : starters) starter.join();
}

TEST_F(SharedLifecycleTest, LoggerIsLetGoAfterTheLastFinalize) {
  const auto first = start(12);
  const auto second = start(12);
  EXPECT_EQ(first->finalize(), ncclSuccess);
  int count = 0;
  EXPECT_NE(second->properties(99, nullptr), ncclSuccess);
  expect_warning("getProperties failed");
  EXPECT_EQ(second->finalize(), ncclSuccess);
  clear_log();
  EXPECT_NE(second->devices(&count), ncclSuccess);
  EXPECT_TRUE(captured_log().empty()) << "NCCL's logger was called after the last finalize";
}

/// Sets a variable for one scope.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name), old_(getenv(name) != nullptr ? getenv(name) : "") {
    setenv(name, value, 1);
  }
  ~ScopedVariable() {
    if (old_.empty()) {
      unsetenv(name_);
    } else {
      setenv(name_, old_.c_str(), 1);
    }
  }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* name_;
  std::string old_;
};

/// init fails with one warning that contains `text`, and works once the cause is gone.
void expect_start_fails(const PluginLibrary& library, const char* name, const char* value, const std::string& text) {
  for (const int version : {12, 11}) {
    SCOPED_TRACE(version);
    const auto net = make_net(library, version);
    {
      const ScopedVariable variable(name, value);
      EXPECT_NE(net->init(capturing_logger()), ncclSuccess);
      EXPECT_EQ(warnings_with("").size(), 1U) << "exactly one line tells the user";
      expect_warning(text);
      int count = 7;
      EXPECT_NE(net->devices(&count), ncclSuccess);
      EXPECT_EQ(warnings_with("").size(), 0U) << "the logger of a start that failed was called afterwards";
    }
    EXPECT_EQ(net->init(capturing_logger()), ncclSuccess);
    EXPECT_EQ(net->finalize(), ncclSuccess);
  }
}

class FailedStartTest : public PluginTest {};

TEST_F(FailedStartTest, LibfabricIsNotThere) {
  expect_start_fails(library(), "WEFT_LIBFABRIC", "/nowhere/libfabric.so.1", "/nowhere/libfabric.so.1");
}

TEST_F(FailedStartTest, LibfabricIsAnotherLibrary) {
  expect_start_fails(library(), "WEFT_LIBFABRIC", "libm.so.6", "libm.so.6");
}

TEST_F(FailedStartTest, ProviderIsNotThere) {
  expect_start_fails(library(), "WEFT_PROVIDER", "teleport", "WEFT_PROVIDER is \"teleport\"");
}

TEST_F(FailedStartTest, InterfaceIsNotThere) {
  expect_start_fails(library(), "WEFT_INTERFACES", "=nix7", "WEFT_INTERFACES is \"=nix7\"");
}

TEST_F(FailedStartTest, UnreadableSwitchThatMustNotBeGuessed) {
  expect_start_fails(library(), "WEFT_REQUIRE", "maybe", "WEFT_REQUIRE is \"maybe\"");
}

void start_old_version_without_libfabric(int version) {
  const PluginLibrary library;
  const auto net = make_net(library, version);
  int count = 7;
  {
    const ScopedVariable variable("WEFT_LIBFABRIC", "/nowhere/libfabric.so.1");
    EXPECT_NE(net->init(capturing_logger()), ncclSuccess);
    expect_warning("/nowhere/libfabric.so.1");
    expect_no_other_warnings();
    EXPECT_NE(net->devices(&count), ncclSuccess);
    EXPECT_EQ(count, 0);
  }
  EXPECT_EQ(net->init(capturing_logger()), ncclSuccess);
  EXPECT_EQ(net->devices(&count), ncclSuccess);
  EXPECT_EQ(count, 1);
}

class OldVersionsTest : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Abi, OldVersionsTest, ::testing::Range(kOldestVersion, 11), version_name);

TEST_P(OldVersionsTest, FailedStartIsSaidAndTriedAgain) {
  WEFT_IN_FRESH_PROCESS(start_old_version_without_libfabric(GetParam()));
}

TEST_F(FailedStartTest, UnknownVariableIsNamedOnce) {
  const ScopedVariable variable("WEFT_INTERFACE", "lo");
  const auto net = start(12);
  EXPECT_EQ(net->finalize(), ncclSuccess);
  const auto again = start(12);
  EXPECT_EQ(again->finalize(), ncclSuccess);
  EXPECT_EQ(warnings_with("WEFT_INTERFACE is not a parameter").size(), 1U);
  expect_warning("did you mean WEFT_INTERFACES?");
}

TEST_F(FailedStartTest, BadNumberIsNamedAndTheDefaultUsed) {
  const ScopedVariable variable("WEFT_PEER_CHECK_MS", "soon");
  const auto net = start(12);
  Connection(*net, *net).transfer(pattern(100, 1), 100, 0);
  EXPECT_EQ(net->finalize(), ncclSuccess);
  expect_warning("WEFT_PEER_CHECK_MS is \"soon\"");
}

}  // namespace
}  // namespace weft::test
