// The other end of a connection in a process of its own, for what one process cannot show.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>

#include "tests/plugin/harness.h"

namespace weft::test {

inline constexpr const char* kSecondProcessArgument = "--second-process";

/// What the second process sends: messages of these sizes, each with pattern(size, its index) and its index as tag.
inline constexpr std::array<std::size_t, 5> kMessageSizes = {1, 0, 4096, 65537, 1 << 20};

enum class Ending : char {
  kOrderly = 'o',  ///< sends everything, waits for it to be received, closes
  kKilled = 'k',   ///< sends the first message and is killed
};

/// Connects to a listener of this process from another one.
class SecondProcess {
 public:
  SecondProcess(const Handle& handle, Ending ending);
  ~SecondProcess();
  SecondProcess(const SecondProcess&) = delete;
  SecondProcess& operator=(const SecondProcess&) = delete;

  pid_t pid() const { return pid_; }
  /// Waits for its end. The status is as waitpid() gives it.
  int wait();

 private:
  pid_t pid_ = -1;
};

/// main() of the second process.
int second_process();

}  // namespace weft::test
