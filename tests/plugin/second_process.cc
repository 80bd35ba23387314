#include "tests/plugin/second_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "tests/plugin/spawn.h"

namespace weft::test {
namespace {

/// What goes through the second process's standard input.
struct Orders {
  Handle handle;
  Ending ending;
};

bool send_everything(Net& net, void* comm, Ending ending) {
  for (std::size_t i = 0; i < kMessageSizes.size(); ++i) {
    auto data = pattern(kMessageSizes[i], static_cast<unsigned>(i));
    data.push_back(std::byte{0});
    void* mhandle = nullptr;
    if (net.reg_mr(comm, data.data(), data.size(), nccl::kPtrHost, &mhandle) != nccl::ncclSuccess) return false;
    void* const request = post_send(net, comm, data.data(), kMessageSizes[i], static_cast<int>(i), mhandle);
    wait_for_all(net, {request});
    if (ending == Ending::kKilled) kill(getpid(), SIGKILL);
    if (net.dereg_mr(comm, mhandle) != nccl::ncclSuccess) return false;
  }
  return true;
}

}  // namespace

SecondProcess::SecondProcess(const Handle& handle, Ending ending) {
  int to = -1;
  pid_ = spawn_self(kSecondProcessArgument, STDIN_FILENO, &to);
  if (pid_ < 0) return;
  const Orders orders{handle, ending};
  EXPECT_EQ(write(to, &orders, sizeof orders), static_cast<ssize_t>(sizeof orders));
  close(to);
}

SecondProcess::~SecondProcess() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  wait();
}

int SecondProcess::wait() {
  int status = 0;
  EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
  pid_ = -1;
  return status;
}

int second_process() {
  Orders orders{};
  if (read(STDIN_FILENO, &orders, sizeof orders) != static_cast<ssize_t>(sizeof orders)) return 2;
  const PluginLibrary library;
  const auto net = make_net(library, kNewestVersion);
  if (net == nullptr || net->init(capturing_logger()) != nccl::ncclSuccess) return 3;
  void* comm = nullptr;
  auto result = nccl::ncclSuccess;
  const bool connected = poll_until([&] {
    result = net->connect(0, orders.handle.data(), &comm);
    return result != nccl::ncclSuccess || comm != nullptr;
  });
  if (!connected || comm == nullptr) return 4;
  if (!send_everything(*net, comm, orders.ending)) return 5;
  if (net->close_send(comm) != nccl::ncclSuccess || net->finalize() != nccl::ncclSuccess) return 6;
  for (const auto& line : warnings_with("")) std::fprintf(stderr, "second process: %s\n", line.c_str());
  return warnings_with("").empty() ? 0 : 7;
}

}  // namespace weft::test
