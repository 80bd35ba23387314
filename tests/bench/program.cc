#include "tests/bench/program.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "bench/socket.h"

namespace weft::bench {
namespace {

/// Appends what is there; false at the end of the stream.
bool drain(int fd, std::string& text) {
  char buffer[4096];
  const ssize_t count = read(fd, buffer, sizeof buffer);
  if (count > 0) text.append(buffer, static_cast<std::size_t>(count));
  return count > 0;
}

}  // namespace

Program::Program(std::vector<std::string> arguments, std::vector<std::string> environment)
    : start_(std::chrono::steady_clock::now()) {
  int out[2];
  int err[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) return;
  arguments.insert(arguments.begin(), WEFT_BENCH_PROGRAM);
  pid_ = fork();
  if (pid_ == 0) {
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    for (std::string& variable : environment) putenv(variable.data());
    std::vector<char*> raw;
    for (std::string& argument : arguments) raw.push_back(argument.data());
    raw.push_back(nullptr);
    execv(WEFT_BENCH_PROGRAM, raw.data());
    _exit(127);
  }
  close(out[1]);
  close(err[1]);
  out_ = out[0];
  err_ = err[0];
}

Program::~Program() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(out_);
  close(err_);
}

void Program::send_signal(int signal) const { kill(pid_, signal); }

void Program::read_outputs(Outcome& outcome, std::chrono::steady_clock::time_point deadline) {
  bool out_open = true;
  bool err_open = true;
  while (out_open || err_open) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) {
      kill(pid_, SIGKILL);
      return;
    }
    pollfd wait[2] = {{out_open ? out_ : -1, POLLIN, 0}, {err_open ? err_ : -1, POLLIN, 0}};
    poll(wait, 2, static_cast<int>(left.count()));
    if (wait[0].revents != 0) out_open = drain(out_, outcome.out);
    if (wait[1].revents != 0) err_open = drain(err_, outcome.err);
  }
}

Outcome Program::wait(std::chrono::seconds limit) {
  Outcome outcome;
  read_outputs(outcome, start_ + limit);
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = 0;
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  return outcome;
}

std::string test_net() { return WEFT_BENCH_TEST_NET; }

Outcome run_bench(std::vector<std::string> arguments, std::vector<std::string> environment) {
  arguments.insert(arguments.end(), {"--plugin", test_net()});
  return Program(std::move(arguments), std::move(environment)).wait();
}

std::string free_rendezvous() {
  const Descriptor probe = listen_on({.host = "127.0.0.1", .port = 0}).value();
  return "127.0.0.1:" + std::to_string(port_of(probe.get()));
}

std::vector<pid_t> processes_with(const std::string& marker) {
  std::vector<pid_t> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    std::ifstream file(entry.path() / "cmdline");
    const std::string line((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (line.find(marker) != std::string::npos) found.push_back(std::atoi(entry.path().filename().c_str()));
  }
  return found;
}

}  // namespace weft::bench
