// weft-nccl-test: the real NCCL between processes of this machine, each of which it takes for a host, on emulated GPUs.
// Every byte is checked. Needs a libcudart, libcuda and libnccl that the loader finds: run it under weft-lab.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/lab/check.h"
#include "tests/lab/options.h"
#include "tests/lab/scenario.h"
#include "tests/lab/world.h"

namespace {

using weft::lab::Options;

// Starts the process anew, so that everything it loads sees which host it is.
pid_t start(const Options& options, int process, int world, char** argv) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  const std::string number = std::to_string(process);
  setenv("NCCL_HOSTID", ("host" + number).c_str(), 1);
  const char* variable = getenv("WEFT_LAB_NODE_VARIABLE");
  setenv(variable != nullptr ? variable : "WEFT_LAB_NODE", number.c_str(), 1);
  setenv("WEFT_LAB_CUDA_DEVICES", std::to_string(options.gpus).c_str(), 1);
  std::vector<std::string> words = {argv[0], "-P", number, "-W", std::to_string(world)};
  for (char** word = argv + 1; *word != nullptr; ++word) words.emplace_back(*word);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv("/proc/self/exe", arguments.data());
  weft::lab::fail("exec", "cannot start a rank");
}

// Whether the process may end like this: in the scenario that kills one, the last one must be killed.
bool good_end(const Options& options, int process, int status) {
  if (options.scenario == "kill" && process == options.processes - 1) {
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int run_parent(const Options& options, char** argv) {
  const int world = weft::lab::World::create();
  std::vector<pid_t> processes;
  for (int i = 0; i < options.processes; ++i) processes.push_back(start(options, i, world, argv));
  bool good = true;
  for (int left = options.processes; left > 0; --left) {
    int status = 0;
    const pid_t ended = wait(&status);
    for (int i = 0; i < options.processes; ++i) {
      if (processes[static_cast<size_t>(i)] != ended) continue;
      processes[static_cast<size_t>(i)] = 0;
      if (good_end(options, i, status)) continue;
      fprintf(stderr, "weft-nccl-test: process %d ended with %s %d\n", i, WIFSIGNALED(status) ? "signal" : "status",
              WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
      if (good) {
        for (const pid_t other : processes) {
          if (other != 0) kill(other, SIGKILL);
        }
      }
      good = false;
    }
  }
  puts(good ? "weft-nccl-test: passed" : "weft-nccl-test: FAILED");
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = weft::lab::parse_options(argc, argv);
  if (options.process < 0) return run_parent(options, argv);
  setvbuf(stdout, nullptr, _IOLBF, 0);  // NCCL's log goes there: nothing may be lost when a rank is killed
  alarm(static_cast<unsigned>(options.limit_s));
  return weft::lab::run_scenario(options, *weft::lab::World::open(options.world));
}
