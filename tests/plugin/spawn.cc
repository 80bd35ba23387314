#include "tests/plugin/spawn.h"

#include <gtest/gtest.h>
#include <spawn.h>
#include <unistd.h>

#include <string>

namespace weft::test {

pid_t spawn_self(const char* argument, int descriptor, int* pipe_end) {
  int ends[2];
  if (pipe(ends) != 0) {
    ADD_FAILURE() << "pipe failed";
    return -1;
  }
  const bool reads = descriptor == STDIN_FILENO;
  const int theirs = ends[reads ? 0 : 1];
  const int ours = ends[reads ? 1 : 0];
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, theirs, descriptor);
  posix_spawn_file_actions_addclose(&actions, ours);
  std::string program = "/proc/self/exe";
  std::string only = argument;
  char* arguments[] = {program.data(), only.data(), nullptr};
  pid_t pid = -1;
  EXPECT_EQ(posix_spawn(&pid, program.c_str(), &actions, nullptr, arguments, environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  close(theirs);
  *pipe_end = ours;
  return pid;
}

}  // namespace weft::test
