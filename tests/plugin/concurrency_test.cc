// Several communicators, threads and processes at once.
#include <sys/wait.h>

#include <csignal>
#include <cstring>
#include <thread>

#include "tests/plugin/harness.h"
#include "tests/plugin/second_process.h"

namespace weft::test {
namespace {

using nccl::ncclSuccess;

class ConcurrencyTest : public EveryVersionTest {};
WEFT_FOR_EVERY_VERSION(ConcurrencyTest);

TEST_P(ConcurrencyTest, ConnectionsInTheirOwnThreads) {
  constexpr int kThreads = 4;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] {
      for (int round = 0; round < 3 && !HasFailure(); ++round) {
        Connection connection(net(), net());
        for (int i = 0; i < 20 && !HasFailure(); ++i) {
          connection.transfer(pattern(static_cast<std::size_t>(i) * 997, static_cast<unsigned>(t * 100 + i)), 20000, t);
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST_P(ConcurrencyTest, SenderAndReceiverInTwoThreads) {
  constexpr int kMessages = 200;
  constexpr std::size_t kSize = 3000;
  Connection connection(net(), net());
  std::thread receiver([&] {
    std::vector<std::byte> to(kSize);
    const Registration memory(net(), connection.recv_comm(), to);
    for (int i = 0; i < kMessages && !HasFailure(); ++i) {
      void* const request = post_receive(net(), connection.recv_comm(), {to.data()}, {kSize}, {5}, {memory.handle()});
      const auto sizes = wait_for_all(net(), {request});
      EXPECT_EQ(sizes[0][0], static_cast<int>(kSize));
      EXPECT_EQ(to, pattern(kSize, static_cast<unsigned>(i))) << "message " << i;
    }
  });
  for (int i = 0; i < kMessages && !HasFailure(); ++i) {
    auto from = pattern(kSize, static_cast<unsigned>(i));
    const Registration memory(net(), connection.send_comm(), from);
    wait_for_all(net(), {post_send(net(), connection.send_comm(), from.data(), kSize, 5, memory.handle())});
  }
  receiver.join();
}

class TwoProcessTest : public PluginTest {
 protected:
  /// Listens, starts the second process and accepts it.
  void* accept_from(Net& net, std::unique_ptr<SecondProcess>& process, Ending ending) {
    Handle handle{};
    void* listener = nullptr;
    EXPECT_EQ(net.listen(0, handle.data(), &listener), ncclSuccess);
    process = std::make_unique<SecondProcess>(handle, ending);
    void* comm = nullptr;
    EXPECT_TRUE(poll_until([&] { return net.accept(listener, &comm) != ncclSuccess || comm != nullptr; }));
    EXPECT_EQ(net.close_listen(listener), ncclSuccess);
    return comm;
  }
};

TEST_F(TwoProcessTest, DataCrosses) {
  const auto net = start(kNewestVersion);
  std::unique_ptr<SecondProcess> process;
  void* const comm = accept_from(*net, process, Ending::kOrderly);
  ASSERT_NE(comm, nullptr);
  for (std::size_t i = 0; i < kMessageSizes.size(); ++i) {
    std::vector<std::byte> to(kMessageSizes[i] + 1);
    void* mhandle = nullptr;
    ASSERT_EQ(net->reg_mr(comm, to.data(), to.size(), nccl::kPtrHost, &mhandle), ncclSuccess);
    void* const request = post_receive(*net, comm, {to.data()}, {kMessageSizes[i]}, {static_cast<int>(i)}, {mhandle});
    EXPECT_EQ(wait_for_all(*net, {request})[0][0], static_cast<int>(kMessageSizes[i]));
    const auto expected = pattern(kMessageSizes[i], static_cast<unsigned>(i));
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), to.begin())) << "message " << i;
    EXPECT_EQ(net->dereg_mr(comm, mhandle), ncclSuccess);
  }
  EXPECT_EQ(process->wait(), 0);
  EXPECT_EQ(net->close_recv(comm), ncclSuccess);
  EXPECT_EQ(net->finalize(), ncclSuccess);
}

TEST_F(TwoProcessTest, DeadPeerIsNamedInTime) {
  const auto net = start(kNewestVersion);
  std::unique_ptr<SecondProcess> process;
  void* const comm = accept_from(*net, process, Ending::kKilled);
  ASSERT_NE(comm, nullptr);
  const std::string pid = std::to_string(process->pid());
  std::vector<std::byte> to(64);
  auto memory = std::make_unique<Registration>(*net, comm, to);
  wait_for_all(*net, {post_receive(*net, comm, {to.data()}, {to.size()}, {0}, {memory->handle()})});
  void* const request = post_receive(*net, comm, {to.data()}, {to.size()}, {1}, {memory->handle()});
  EXPECT_TRUE(WIFSIGNALED(process->wait()));

  const auto died = std::chrono::steady_clock::now();
  auto result = ncclSuccess;
  int done = 0;
  EXPECT_TRUE(poll_until([&] {
    result = net->test(request, &done, nullptr);
    return result != ncclSuccess || done != 0;
  }));
  EXPECT_EQ(result, nccl::ncclRemoteError);
  EXPECT_EQ(done, 0);
  EXPECT_LT(std::chrono::steady_clock::now() - died, std::chrono::seconds(10));
  const auto said = warnings_with(pid);
  EXPECT_EQ(said.size(), 1U) << "one warning names the process that died";
  if (!said.empty()) expect_warning(pid);
  memory.reset();
  EXPECT_EQ(net->close_recv(comm), ncclSuccess);
  EXPECT_EQ(net->finalize(), ncclSuccess);
}

}  // namespace
}  // namespace weft::test
