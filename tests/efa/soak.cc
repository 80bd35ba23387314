// weft-soak: random traffic over emulated EFA NICs that reorder, delay and fail at random, one process for each seed.
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

#include "bench/plugin_log.h"
#include "tests/efa/run.h"
#include "tests/emulation/efa/rig.h"

namespace weft::soak {
namespace {

/// Above all that a run waits for by itself: a call into the plugin that does not return.
constexpr unsigned kLimitSeconds = 1000;
constexpr int kUsage = 2;
/// As weft-lab ends where a part of the lab is missing.
constexpr int kMissing = 77;

constexpr const char* kHelp =
    "usage: weft-lab -- weft-soak [--runs N] [--seed S] [--plugin PATH]\n"
    "  --runs N       how many runs, with the seeds S, S+1, ... (6)\n"
    "  --seed S       the first seed (1); a run that fails names its own\n"
    "  --plugin PATH  the Weft to test (the one it was built with)\n"
    "NCCL_DEBUG=INFO shows more of the plugin's log where a run fails.\n";

struct Options {
  std::uint64_t runs = 6;
  std::uint64_t seed = 1;
  std::string plugin = WEFT_SOAK_PLUGIN;
  bool inside = false;  ///< this process makes the run
};

std::optional<Options> parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--inside") {
      options.inside = true;
      continue;
    }
    if (i + 1 == argc) return {};
    const std::string_view value = argv[++i];
    std::uint64_t* const number = name == "--runs" ? &options.runs : name == "--seed" ? &options.seed : nullptr;
    if (number == nullptr) {
      if (name != "--plugin") return {};
      options.plugin = value;
    } else if (std::from_chars(value.data(), value.data() + value.size(), *number).ec != std::errc{}) {
      return {};
    }
  }
  return options;
}

int run_inside(const Options& options) {
  alarm(kLimitSeconds);
  const char* const level = std::getenv("NCCL_DEBUG");
  bench::configure_plugin_log(0,
                              bench::parse_log_level(level != nullptr ? level : "WARN").value_or(nccl::NCCL_LOG_WARN));
  const auto outcome = run(SoakPlan::of(options.seed), options.plugin);
  std::printf("%s\n", outcome ? outcome->c_str() : outcome.error().what.c_str());
  std::fflush(stdout);
  // Where something is wrong, what is left of the run is not to be torn down: it would say more than is known.
  if (!outcome) _exit(EXIT_FAILURE);
  return EXIT_SUCCESS;
}

/// A run's process: its environment, and what it says.
class Child {
 public:
  Child(const Options& options, const SoakPlan& plan) : output_(memfd_create("weft-soak", MFD_CLOEXEC)) {
    std::vector<std::string> environment = plan.environment();
    for (char** each = environ; *each != nullptr; ++each) environment.emplace_back(*each);
    // Of two of a name the first counts. Each run has NICs of its own.
    environment.insert(environment.begin(), "WEFT_LAB_EFA_DOMAIN=" + domain(plan.seed));
    std::vector<std::string> arguments = {"weft-soak", "--inside",    "--seed", std::to_string(plan.seed),
                                          "--plugin",  options.plugin};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, output_, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output_, STDERR_FILENO);
    if (posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, pointers(arguments).data(),
                    pointers(environment).data()) != 0) {
      pid_ = -1;
    }
    posix_spawn_file_actions_destroy(&actions);
  }
  ~Child() { close(output_); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  static std::string domain(std::uint64_t seed) {
    const char* const own = std::getenv("WEFT_LAB_EFA_DOMAIN");
    // weft-lab removes what begins with its own name and a dot.
    return std::string(own != nullptr ? own : "soak") + "." + std::to_string(seed);
  }

  bool wait() {
    int status = -1;
    while (pid_ > 0 && waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(status)) said_ = std::string("killed by ") + strsignal(WTERMSIG(status)) + "\n";
    char buffer[4096];
    for (off_t at = 0;;) {
      const ssize_t size = pread(output_, buffer, sizeof buffer, at);
      if (size <= 0) break;
      said_.append(buffer, static_cast<std::size_t>(size));
      at += size;
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  const std::string& said() const noexcept { return said_; }
  std::string last_line() const {
    const std::size_t end = said_.find_last_not_of('\n');
    const std::size_t begin = said_.rfind('\n', end);
    return said_.substr(begin == std::string::npos ? 0 : begin + 1, end == std::string::npos ? end : end - begin);
  }

 private:
  static std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> all;
    for (std::string& each : texts) all.push_back(each.data());
    all.push_back(nullptr);
    return all;
  }

  int output_;
  pid_t pid_ = -1;
  std::string said_;
};

int run_all(const Options& options) {
  std::uint64_t failed = 0;
  for (std::uint64_t seed = options.seed; seed < options.seed + options.runs; ++seed) {
    const SoakPlan plan = SoakPlan::of(seed);
    std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), plan.text().c_str());
    std::fflush(stdout);
    Child child(options, plan);
    const bool passed = child.wait();
    std::printf("  %s: %s\n", passed ? "passed" : "FAILED", (passed ? child.last_line() : child.said()).c_str());
    if (!passed) {
      std::printf("  again: weft-soak --runs 1 --seed %llu\n", static_cast<unsigned long long>(seed));
      ++failed;
    }
    std::fflush(stdout);
    emulation::efa::Rig(Child::domain(seed)).clean();
  }
  std::printf("%llu runs, %llu failed\n", static_cast<unsigned long long>(options.runs),
              static_cast<unsigned long long>(failed));
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace weft::soak

int main(int argc, char** argv) {
  using namespace weft::soak;
  const auto options = parse(argc, argv);
  if (!options) {
    std::fputs(kHelp, stderr);
    return kUsage;
  }
  if (std::getenv("WEFT_LAB_EFA_DOMAIN") == nullptr) {
    std::fputs("weft-soak: no emulated NICs: run it by tests/emulation/weft-lab\n", stderr);
    return kMissing;
  }
  return options->inside ? run_inside(*options) : run_all(*options);
}
