// An abort as NCCL does it: memory is deregistered and freed while messages are in flight, before anything is closed.
// Whoever touches it afterwards gets a signal.
#include <sys/mman.h>

#include <cstring>
#include <utility>

#include "tests/plugin/harness.h"

namespace weft::test {
namespace {

constexpr std::size_t kBytes = 8UL << 20;  ///< more than a socket takes at once

/// Memory that can be made inaccessible, registered with one end of a connection.
class Region {
 public:
  Region(Net& net, void* comm) : net_(net), comm_(comm) {
    void* const mapped = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(mapped, MAP_FAILED);
    data_ = static_cast<std::byte*>(mapped);
    EXPECT_EQ(net.reg_mr(comm, data_, kBytes, nccl::kPtrHost, &handle_), nccl::ncclSuccess);
  }
  ~Region() {
    if (handle_ != nullptr) give_back();
    munmap(data_, kBytes);
  }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  void give_back() {
    EXPECT_EQ(net_.dereg_mr(comm_, std::exchange(handle_, nullptr)), nccl::ncclSuccess);
    EXPECT_EQ(mprotect(data_, kBytes, PROT_NONE), 0);
  }
  std::byte* data() const { return data_; }
  void* handle() const { return handle_; }

 private:
  Net& net_;
  void* comm_;
  std::byte* data_ = nullptr;
  void* handle_ = nullptr;
};

class AbortTest : public PluginTest {
 protected:
  void SetUp() override {
    PluginTest::SetUp();
    net_ = start(kNewestVersion);
    connection_ = std::make_unique<Connection>(*net_, *net_);
  }
  void TearDown() override {
    connection_.reset();
    EXPECT_EQ(net_->finalize(), nccl::ncclSuccess);
    // A send that nobody received stays libfabric's, and the objects that it was made from.
    if (!warnings_with("fi_close failed: error 16").empty()) expect_warnings("fi_close failed: error 16");
    PluginTest::TearDown();
  }

  void* receive(const Region& region) {
    return post_receive(*net_, connection_->recv_comm(), {region.data()}, {kBytes}, {0}, {region.handle()});
  }
  void* send(const Region& region, std::size_t size = kBytes) {
    return post_send(*net_, connection_->send_comm(), region.data(), size, 0, region.handle());
  }
  /// Lets the device move what it likes; what becomes of the request does not matter.
  void ask(void* request, int times) {
    for (int done = 0; times > 0 && done == 0; --times) {
      if (net_->test(request, &done, nullptr) != nccl::ncclSuccess) return;
    }
  }

  std::unique_ptr<Net> net_;
  std::unique_ptr<Connection> connection_;
};

TEST_F(AbortTest, WhatComesAfterTheMemoryHasGoneLandsNowhere) {
  Region in(*net_, connection_->recv_comm());
  Region out(*net_, connection_->send_comm());
  ASSERT_NE(receive(in), nullptr);
  in.give_back();
  for (const std::size_t size : {64UL, kBytes}) ask(send(out, size), 1000);
}

TEST_F(AbortTest, AMessageThatHasBegunEndsBeforeItsMemoryGoes) {
  Region in(*net_, connection_->recv_comm());
  Region out(*net_, connection_->send_comm());
  std::memset(out.data(), 1, kBytes);
  ASSERT_NE(receive(in), nullptr);
  void* const sent = send(out);
  ASSERT_TRUE(poll_until([&] {
    ask(sent, 1);
    return in.data()[0] != std::byte{0};
  }));
  EXPECT_EQ(in.data()[kBytes - 1], std::byte{0}) << "it has not ended yet";
  in.give_back();
  ask(sent, 1000);
}

TEST_F(AbortTest, WhatNobodyReceivesDoesNotHoldItsMemory) {
  Region out(*net_, connection_->send_comm());
  void* const sent = send(out);
  out.give_back();
  ask(sent, 1000);
}

}  // namespace
}  // namespace weft::test
