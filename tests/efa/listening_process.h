// A process that listens and never accepts, for what becomes of those who connect to it.
#pragma once

#include <sys/types.h>

#include "tests/plugin/harness.h"

namespace weft::test {

inline constexpr const char* kListeningArgument = "--listening-process";

class ListeningProcess {
 public:
  /// Returns when it listens.
  ListeningProcess();
  ~ListeningProcess() { end(); }
  ListeningProcess(const ListeningProcess&) = delete;
  ListeningProcess& operator=(const ListeningProcess&) = delete;

  const Handle& handle() const noexcept { return handle_; }
  pid_t pid() const noexcept { return pid_; }
  /// Kills it, and returns when it is gone.
  void end();

 private:
  Handle handle_{};
  pid_t pid_ = -1;
};

/// main() of the process.
int listening_process();

}  // namespace weft::test
