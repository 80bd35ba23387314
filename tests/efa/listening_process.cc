#include "tests/efa/listening_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "tests/plugin/spawn.h"

namespace weft::test {

ListeningProcess::ListeningProcess() {
  int from = -1;
  pid_ = spawn_self(kListeningArgument, STDOUT_FILENO, &from);
  if (pid_ < 0) return;
  EXPECT_EQ(read(from, handle_.data(), handle_.size()), static_cast<ssize_t>(handle_.size()));
  close(from);
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
