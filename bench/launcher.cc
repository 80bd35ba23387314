#include "bench/launcher.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "bench/exit_status.h"
#include "bench/socket.h"
#include "bench/text.h"

namespace weft::bench {
namespace {

// After a rank has failed, the plugins of the others notice within a few seconds and say which peer is gone, which is
// worth waiting for; but the run must be over within 10 s.
constexpr auto kGrace = std::chrono::seconds(8);

class Launcher {
 public:
  Launcher(const Options& options, int argc, char** argv) : options_(options), arguments_(argv, argv + argc) {}
  ~Launcher() { kill_all(); }
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  Result<int> run();

 private:
  struct Child {
    pid_t pid = 0;
    int rank = 0;
    bool running = true;
  };

  Status block_signals();
  Status start(int rank, int listener, std::uint16_t port);
  [[noreturn]] void become_rank(std::vector<std::string> arguments, int listener, pid_t parent) const;
  void reap();
  void note_end(const Child& child, int status);
  void set_deadline(std::chrono::milliseconds from_now);
  void kill_all();
  bool any_running() const {
    return std::ranges::any_of(children_, [](const Child& child) { return child.running; });
  }
  std::string running_ranks() const;

  const Options& options_;
  std::vector<std::string> arguments_;
  sigset_t old_mask_{};
  Descriptor signals_;
  pid_t group_ = 0;  ///< of all ranks; the first one's pid
  std::vector<Child> children_;
  std::optional<Clock::time_point> deadline_;  ///< when the remaining ranks are killed
  int exit_status_ = kExitOk;
};

Status Launcher::block_signals() {
  sigset_t mask;
  sigemptyset(&mask);
  for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) sigaddset(&mask, signal);
  sigprocmask(SIG_BLOCK, &mask, &old_mask_);
  signals_ = Descriptor(signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) return fail(Code::kSystem, errno, text("signalfd failed: %s", std::strerror(errno)));
  return {};
}

void Launcher::become_rank(std::vector<std::string> arguments, int listener, pid_t parent) const {
  sigprocmask(SIG_SETMASK, &old_mask_, nullptr);
  // The kernel ends this rank when the parent dies, however it dies; it may have died before the kernel was told.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kExitFailed);
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null >= 0) dup2(null, STDIN_FILENO);
  if (listener >= 0) fcntl(listener, F_SETFD, 0);
  std::vector<char*> raw;
  for (std::string& argument : arguments) raw.push_back(argument.data());
  raw.push_back(nullptr);
  execv("/proc/self/exe", raw.data());
  std::fprintf(stderr, "weft-bench: cannot start a rank: %s\n", std::strerror(errno));
  _exit(kExitFailed);
}

Status Launcher::start(int rank, int listener, std::uint16_t port) {
  std::vector<std::string> arguments = arguments_;
  arguments.insert(arguments.end(), {"--rank", std::to_string(rank), "--size", std::to_string(options_.role.launch),
                                     "--rendezvous", "127.0.0.1:" + std::to_string(port)});
  // Rank 0 inherits the socket, so nobody can take the port between choosing and using it.
  if (rank == 0) arguments.insert(arguments.end(), {"--rendezvous-fd", std::to_string(listener)});
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0)
    return fail(Code::kSystem, errno, text("cannot start rank %d: fork failed: %s", rank, std::strerror(errno)));
  if (pid == 0) {
    setpgid(0, group_);
    // For what is loaded into the rank before its arguments are read, such as an emulated device.
    setenv("WEFT_BENCH_RANK", std::to_string(rank).c_str(), 1);
    become_rank(std::move(arguments), rank == 0 ? listener : -1, parent);
  }
  // A group of their own keeps the terminal's Ctrl-C for the parent. Both sides set it, whoever comes first.
  if (group_ == 0) group_ = pid;
  setpgid(pid, group_);
  children_.push_back({.pid = pid, .rank = rank});
  return {};
}

void Launcher::set_deadline(std::chrono::milliseconds from_now) {
  const auto wanted = Clock::now() + from_now;
  deadline_ = deadline_ ? std::min(*deadline_, wanted) : wanted;
}

void Launcher::note_end(const Child& child, int status) {
  const bool was_well = exit_status_ == kExitOk || exit_status_ == kExitWrongData;
  if (WIFEXITED(status) && WEXITSTATUS(status) == kExitOk) {
    // Ranks end together; one that stays behind hangs in the plugin's clean-up.
    set_deadline(options_.timeout);
  } else if (WIFEXITED(status) && WEXITSTATUS(status) == kExitWrongData) {
    if (was_well) exit_status_ = kExitWrongData;
    set_deadline(options_.timeout);
  } else {
    if (WIFSIGNALED(status)) {
      std::fprintf(stderr, "weft-bench: rank %d (pid %d) was killed by signal %d (%s)\n", child.rank, child.pid,
                   WTERMSIG(status), strsignal(WTERMSIG(status)));
    } else if (was_well) {
      // Those that follow end because of this one.
      std::fprintf(stderr, "weft-bench: rank %d (pid %d) ended with exit status %d\n", child.rank, child.pid,
                   WEXITSTATUS(status));
    }
    exit_status_ = kExitFailed;
    set_deadline(kGrace);
  }
}

void Launcher::reap() {
  for (Child& child : children_) {
    int status = 0;
    if (!child.running || waitpid(child.pid, &status, WNOHANG) != child.pid) continue;
    child.running = false;
    note_end(child, status);
  }
}

std::string Launcher::running_ranks() const {
  std::string list;
  for (const Child& child : children_) {
    if (child.running) list += (list.empty() ? "rank " : ", ") + std::to_string(child.rank);
  }
  return list;
}

void Launcher::kill_all() {
  // The group's number cannot belong to anybody else while a member of it has not been waited for.
  if (any_running()) kill(-group_, SIGKILL);
  for (Child& child : children_) {
    if (child.running) waitpid(child.pid, nullptr, 0);
    child.running = false;
  }
}

Result<int> Launcher::run() {
  TRY(const Descriptor listener, listen_on({.host = "127.0.0.1", .port = 0}));
  TRY_VOID(block_signals());
  for (int rank = 0; rank < options_.role.launch; ++rank) {
    TRY_VOID(start(rank, listener.get(), port_of(listener.get())));
  }
  while (any_running()) {
    pollfd wait{signals_.get(), POLLIN, 0};
    poll(&wait, 1, deadline_ ? milliseconds_until(*deadline_) : -1);
    signalfd_siginfo signal;
    while (read(signals_.get(), &signal, sizeof signal) == sizeof signal) {
      if (signal.ssi_signo == SIGCHLD) continue;
      std::fprintf(stderr, "weft-bench: stopped by signal %u\n", signal.ssi_signo);
      kill_all();
      return kExitInterrupted;
    }
    reap();
    if (deadline_ && Clock::now() >= *deadline_ && any_running()) {
      std::fprintf(stderr, "weft-bench: %s did not end with the others: killed\n", running_ranks().c_str());
      kill_all();
      exit_status_ = kExitFailed;
    }
  }
  return exit_status_;
}

}  // namespace

Result<int> launch_ranks(const Options& options, int argc, char** argv) { return Launcher(options, argc, argv).run(); }

}  // namespace weft::bench
