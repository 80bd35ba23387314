#include "tests/efa/listening_process.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace weft::test {

ListeningProcess::ListeningProcess() {
  int ends[2];
  if (pipe(ends) != 0) {
    ADD_FAILURE() << "pipe failed";
    return;
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  std::string program = "/proc/self/exe";
  std::string argument = kListeningArgument;
  char* arguments[] = {program.data(), argument.data(), nullptr};
  EXPECT_EQ(posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments, environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  EXPECT_EQ(read(ends[0], handle_.data(), handle_.size()), static_cast<ssize_t>(handle_.size()));
  close(ends[0]);
}

void ListeningProcess::end() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

int listening_process() {
  const PluginLibrary library;
  const auto net = make_net(library, kNewestVersion);
  Handle handle{};
  void* listener = nullptr;
  if (net == nullptr || net->init(capturing_logger()) != nccl::ncclSuccess) return 2;
  if (net->listen(0, handle.data(), &listener) != nccl::ncclSuccess) return 3;
  if (write(STDOUT_FILENO, handle.data(), handle.size()) != static_cast<ssize_t>(handle.size())) return 4;
  while (true) pause();
}

}  // namespace weft::test
