// Runs weft-bench as users do, for the tests.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace weft::bench {

/// How a run ended.
struct Outcome {
  int status = -1;  ///< exit status, or 1000 + the signal that ended it
  std::string out;
  std::string err;
  double seconds = 0;

  bool says(const std::string& text) const { return out.find(text) != std::string::npos; }
  bool complains(const std::string& text) const { return err.find(text) != std::string::npos; }
};

/// A run of weft-bench that may still be going on.
class Program {
 public:
  /// `arguments` without the program's name; `environment` as NAME=VALUE, added to this process's.
  Program(std::vector<std::string> arguments, std::vector<std::string> environment);
  /// Kills it if it still runs.
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void send_signal(int signal) const;
  /// Waits for the end; kills the program after `limit` (status 1009).
  Outcome wait(std::chrono::seconds limit = std::chrono::seconds(300));

 private:
  void read_outputs(Outcome& outcome, std::chrono::steady_clock::time_point deadline);

  pid_t pid_ = 0;
  int out_ = -1;
  int err_ = -1;
  std::chrono::steady_clock::time_point start_;
};

/// The plugin for tests.
std::string test_net();

/// Runs with the test plugin.
Outcome run_bench(std::vector<std::string> arguments, std::vector<std::string> environment = {});

/// A loopback address with a port that was free a moment ago: "127.0.0.1:40001".
std::string free_rendezvous();

/// The processes that have `marker` in their command line, whose arguments end in zero bytes.
std::vector<pid_t> processes_with(const std::string& marker);

}  // namespace weft::bench
