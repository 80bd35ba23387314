// Peers that end, freeze or are gone too early, over emulated EFA NICs. Which number of rails, the environment says.
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <utility>

#include "tests/efa/listening_process.h"
#include "tests/plugin/harness.h"
#include "tests/plugin/second_process.h"

namespace weft::test {
namespace {

using nccl::ncclSuccess;

/// A variable for the plugin that is started next.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) { setenv(name, value.c_str(), 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

/// Another host, whose process sends kMessageSizes to this one.
class Sender {
 public:
  Sender(Net& net, int host, Ending ending) : net_(net) {
    Handle handle{};
    void* listener = nullptr;
    EXPECT_EQ(net.listen(0, handle.data(), &listener), ncclSuccess);
    const Variable node("WEFT_LAB_NODE", std::to_string(host));
    process_ = std::make_unique<SecondProcess>(handle, ending);
    EXPECT_TRUE(poll_until([&] { return net.accept(listener, &comm_) != ncclSuccess || comm_ != nullptr; }));
    EXPECT_EQ(net.close_listen(listener), ncclSuccess);
    to_.resize(kMessageSizes.back() + 1);
    EXPECT_EQ(net.reg_mr(comm_, to_.data(), to_.size(), nccl::kPtrHost, &memory_), ncclSuccess);
  }
  ~Sender() {
    EXPECT_EQ(net_.dereg_mr(comm_, memory_), ncclSuccess);
    EXPECT_EQ(net_.close_recv(comm_), ncclSuccess);
  }
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  SecondProcess& process() noexcept { return *process_; }

  /// The next message.
  void* post() {
    const auto tag = static_cast<int>(next_);
    return post_receive(net_, comm_, {to_.data()}, {kMessageSizes[next_++]}, {tag}, {memory_});
  }
  void receive(void* request) {
    EXPECT_EQ(wait_for_all(net_, {request})[0][0], static_cast<int>(kMessageSizes[next_ - 1]));
    const auto expected = pattern(kMessageSizes[next_ - 1], static_cast<unsigned>(next_ - 1));
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), to_.begin())) << "message " << next_ - 1;
  }
  void receive_rest() {
    while (next_ < kMessageSizes.size()) receive(post());
    EXPECT_EQ(process_->wait(), 0);
  }

 private:
  Net& net_;
  std::unique_ptr<SecondProcess> process_;
  void* comm_ = nullptr;
  std::vector<std::byte> to_;
  void* memory_ = nullptr;
  std::size_t next_ = 0;
};

/// Tests the request until it fails.
nccl::ncclResult_t failure_of(Net& net, void* request) {
  auto result = ncclSuccess;
  int done = 0;
  EXPECT_TRUE(poll_until([&] {
    result = net.test(request, &done, nullptr);
    return result != ncclSuccess || done != 0;
  }));
  EXPECT_EQ(done, 0);
  return result;
}

/// Connects until it fails.
nccl::ncclResult_t failure_of(Net& net, Handle handle) {
  void* comm = nullptr;
  auto result = ncclSuccess;
  EXPECT_TRUE(poll_until([&] {
    result = net.connect(0, handle.data(), &comm);
    return result != ncclSuccess || comm != nullptr;
  }));
  EXPECT_EQ(comm, nullptr);
  return result;
}

class PeersTest : public PluginTest {};

TEST_F(PeersTest, OneOfThreeDiesAndTheOthersGoOn) {
  const auto net = start(kNewestVersion);
  {
    Sender first(*net, 1, Ending::kOrderly);
    Sender dying(*net, 2, Ending::kKilled);
    Sender last(*net, 3, Ending::kOrderly);
    const std::string pid = std::to_string(dying.process().pid());
    for (Sender* each : {&first, &dying, &last}) each->receive(each->post());
    EXPECT_TRUE(WIFSIGNALED(dying.process().wait()));
    void* const never = dying.post();
    // Before its end has been noticed, and after.
    first.receive(first.post());
    last.receive(last.post());
    EXPECT_EQ(failure_of(*net, never), nccl::ncclRemoteError);
    first.receive_rest();
    last.receive_rest();
    expect_warnings(pid);
  }
  EXPECT_EQ(net->finalize(), ncclSuccess);
}

TEST_F(PeersTest, FrozenOneIsNamedAndMayGoOn) {
  const Variable limit("WEFT_STALL_WARNING_S", "1");
  const auto net = start(kNewestVersion);
  {
    Sender sender(*net, 1, Ending::kOrderly);
    const pid_t pid = sender.process().pid();
    sender.receive(sender.post());
    sender.receive(sender.post());
    // Whatever it is about: the next message is too long to be sent before there is a receive.
    ASSERT_EQ(kill(pid, SIGSTOP), 0);
    ASSERT_EQ(waitpid(pid, nullptr, WUNTRACED), pid);
    void* const request = sender.post();
    int done = 0;
    EXPECT_TRUE(poll_until([&] {
      EXPECT_EQ(net->test(request, &done, nullptr), ncclSuccess);
      return done != 0 || !warnings_with("have not moved for").empty();
    }));
    EXPECT_EQ(done, 0);
    EXPECT_EQ(warnings_with("pid " + std::to_string(pid)).size(), 1U) << "one line, which names it";
    expect_warning("have not moved for");
    ASSERT_EQ(kill(pid, SIGCONT), 0);
    sender.receive(request);
    sender.receive_rest();
  }
  EXPECT_EQ(net->finalize(), ncclSuccess);
}

TEST_F(PeersTest, ListenerWhoseProcessHasEndedIsFoundOut) {
  const auto net = start(kNewestVersion);
  const Variable node("WEFT_LAB_NODE", "1");
  ListeningProcess listening;
  listening.end();
  EXPECT_EQ(failure_of(*net, listening.handle()), nccl::ncclRemoteError);
  expect_warning("cannot be reached");
  EXPECT_EQ(net->finalize(), ncclSuccess);
}

TEST_F(PeersTest, ListenerThatHasBeenClosedRefuses) {
  const auto net = start(kNewestVersion);
  Handle handle{};
  void* listener = nullptr;
  ASSERT_EQ(net->listen(0, handle.data(), &listener), ncclSuccess);
  ASSERT_EQ(net->close_listen(listener), ncclSuccess);
  EXPECT_EQ(failure_of(*net, handle), nccl::ncclRemoteError);
  expect_warning("refused the connection");
  expect_warning("refused on");
  EXPECT_EQ(net->finalize(), ncclSuccess);
}

TEST_F(PeersTest, ListenerThatIsFrozenCostsTheTimeLimit) {
  const Variable limit("WEFT_CONNECT_TIMEOUT_S", "1");
  const auto net = start(kNewestVersion);
  const Variable node("WEFT_LAB_NODE", "1");
  const ListeningProcess listening;
  ASSERT_EQ(kill(listening.pid(), SIGSTOP), 0);
  ASSERT_EQ(waitpid(listening.pid(), nullptr, WUNTRACED), listening.pid());
  EXPECT_NE(failure_of(*net, listening.handle()), ncclSuccess);
  expect_warning("did not answer a connect request");
  EXPECT_EQ(net->finalize(), ncclSuccess);
}

}  // namespace
}  // namespace weft::test
