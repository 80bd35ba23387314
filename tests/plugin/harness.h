// What the tests of the built plugin share: a started plugin, connections through it, and waiting with a limit.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tests/plugin/nccl_log.h"
#include "tests/plugin/net.h"

namespace weft::test {

/// Longer than anything here takes, also under a sanitizer on a busy machine.
inline constexpr std::chrono::seconds kPatience{60};

/// Calls `step` until it returns true or patience ends; says which.
template <class Step>
bool poll_until(Step step) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!step()) {
    if (std::chrono::steady_clock::now() > end) return false;
  }
  return true;
}

using Handle = std::array<std::byte, nccl::kNetHandleBytes>;

/// A connection between two ends in this process, which may belong to two starts of the plugin. Closes at the end of
/// its life.
class Connection {
 public:
  /// Null ends, and a failure of the test, if it does not come about.
  Connection(Net& sender, Net& receiver, int dev = 0);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void* send_comm() const { return send_comm_; }
  void* recv_comm() const { return recv_comm_; }

  /// Sends `data` and receives it into `capacity` bytes, registered for the purpose; checks sizes and content.
  void transfer(std::span<const std::byte> data, std::size_t capacity, int tag);

 private:
  Net& sender_;
  Net& receiver_;
  void* send_comm_ = nullptr;
  void* recv_comm_ = nullptr;
};

/// A buffer registered with one end of a connection, for as long as it lives.
class Registration {
 public:
  Registration(Net& net, void* comm, std::vector<std::byte>& buffer);
  ~Registration();
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

  void* handle() const { return handle_; }

 private:
  Net& net_;
  void* comm_;
  void* handle_ = nullptr;
};

/// Posts until the plugin takes it.
void* post_send(Net& net, void* comm, void* data, std::size_t size, int tag, void* mhandle);
void* post_receive(Net& net, void* comm, std::vector<void*> data, std::vector<std::size_t> sizes, std::vector<int> tags,
                   std::vector<void*> mhandles);

/// Waits for all of `requests` of one start of the plugin; sizes as test() reported them, one vector per request.
std::vector<std::vector<int>> wait_for_all(Net& net, const std::vector<void*>& requests);

/// Bytes that differ from those of another seed.
std::vector<std::byte> pattern(std::size_t size, unsigned seed);

/// Fails for every warning the test did not expect.
class PluginTest : public ::testing::Test {
 protected:
  void SetUp() override { clear_log(); }
  void TearDown() override { expect_no_other_warnings(); }

  /// A driver of `version`, started.
  std::unique_ptr<Net> start(int version) {
    auto net = make_net(library_, version);
    EXPECT_NE(net, nullptr) << "version " << version << " is not exported";
    if (net != nullptr) {
      EXPECT_EQ(net->init(capturing_logger()), nccl::ncclSuccess);
    }
    return net;
  }

  const PluginLibrary& library() const { return library_; }

 private:
  PluginLibrary library_;
};

/// Runs once per version of the ABI, with `net()` started.
class EveryVersionTest : public PluginTest, public ::testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    PluginTest::SetUp();
    net_ = start(GetParam());
    ASSERT_NE(net_, nullptr);
  }
  void TearDown() override {
    EXPECT_EQ(net_->finalize(), nccl::ncclSuccess);
    PluginTest::TearDown();
  }

  Net& net() { return *net_; }

 private:
  std::unique_ptr<Net> net_;
};

inline std::string version_name(const ::testing::TestParamInfo<int>& info) { return "v" + std::to_string(info.param); }

}  // namespace weft::test

/// Runs `statement`, which may contain EXPECT_..., in a process of its own, where no earlier test has started the
/// plugin (an ABI without finalize, once started, stays so).
#define WEFT_IN_FRESH_PROCESS(statement)                    \
  do {                                                      \
    GTEST_FLAG_SET(death_test_style, "threadsafe");         \
    EXPECT_EXIT(                                            \
        {                                                   \
          statement;                                        \
          std::exit(::testing::Test::HasFailure() ? 1 : 0); \
        },                                                  \
        ::testing::ExitedWithCode(0), "");                  \
  } while (false)

/// Instantiates a suite derived from EveryVersionTest.
#define WEFT_FOR_EVERY_VERSION(Suite)                                                                                \
  INSTANTIATE_TEST_SUITE_P(Abi, Suite, ::testing::Range(weft::test::kOldestVersion, weft::test::kNewestVersion + 1), \
                           weft::test::version_name)
