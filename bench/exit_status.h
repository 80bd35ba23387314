// What the program's exit status says; the same for a rank and for the parent that started it.
#pragma once

namespace weft::bench {

enum ExitStatus : int {
  kExitOk = 0,
  kExitFailed = 1,        ///< a call failed, a rank died or never came
  kExitUsage = 2,         ///< the command line cannot be right
  kExitWrongData = 3,     ///< everything ran, but some bytes were wrong
  kExitInterrupted = 130  ///< ended by SIGINT or SIGTERM
};

}  // namespace weft::bench
