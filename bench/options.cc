#include "bench/options.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

#include "bench/exit_status.h"
#include "bench/net_plugin.h"
#include "bench/plugin_log.h"
#include "bench/raw_wire.h"
#include "bench/sizes.h"
#include "bench/socket.h"
#include "bench/text.h"

namespace weft::bench {
namespace {

constexpr int kMaxRanks = 4096;

/// The command line as CLI11 fills it in; 0 and empty mean "not given" where a default depends on other flags.
struct Raw {
  int ranks = 0;
  int rank = -1;
  int size = 0;
  std::string rendezvous;
  int listener = -1;
  double timeout_s = 30;
  std::string debug;
  std::string abi;
  std::string min_bytes;
  std::string max_bytes;
  int factor = 0;
  std::string step_bytes;
  int iterations = 0;
  int warmup = -1;
  int rounds = 0;
  std::string chunk = "512K";
  std::string hidden = "7K";
};

std::string check_size(const std::string& input) {
  const auto size = parse_size(input);
  return size ? std::string() : size.error().what;
}

void add_common(CLI::App& app, Raw& raw, Options& options) {
  const CLI::Range at_least_one(1, 1'000'000'000);
  auto* ranks = app.add_option("--ranks", raw.ranks, "Start this many ranks on this machine (default 2)");
  ranks->check(CLI::Range(1, kMaxRanks))->group("Ranks");
  auto* rank = app.add_option("--rank", raw.rank, "Be this rank of a run that is started by hand");
  auto* size = app.add_option("--size", raw.size, "Number of ranks of that run");
  app.add_option("--rendezvous", raw.rendezvous, "HOST:PORT where rank 0 waits for the others")->group("Ranks");
  rank->check(CLI::Range(0, kMaxRanks - 1))->needs(size)->group("Ranks");
  size->check(CLI::Range(1, kMaxRanks))->needs(rank)->group("Ranks");
  app.add_option("--rendezvous-fd", raw.listener)->group("");  // the parent's, for the rank 0 it starts
  app.add_option("--timeout", raw.timeout_s, "Seconds for ranks to arrive, and for transfers that do not move")
      ->check(CLI::Range(0.1, 86400.0))
      ->capture_default_str()
      ->group("Ranks");

  app.add_option("--plugin", options.plugin, "NCCL net plugin to load (default: the Weft next to this program)")
      ->group("Plugin");
  app.add_option("--compare", options.compare, "A second plugin, measured in turn with the first")->group("Plugin");
  app.add_option("--abi", raw.abi, "Use this version of the plugin's table: v8 to v12 (default: the newest)")
      ->group("Plugin");
  app.add_option("--device", options.device, "The plugin's device to use")
      ->check(CLI::Range(0, 1023))
      ->capture_default_str()
      ->group("Plugin");
  app.add_option("--debug", raw.debug,
                 "What to show of the plugin's log: NONE, VERSION, WARN, INFO or TRACE (default: NCCL_DEBUG, or WARN)")
      ->group("Plugin");

  app.add_option("-n,--iters", raw.iterations, "Iterations per measurement (default 20; p2p: at most 1000)")
      ->check(at_least_one)
      ->group("Measurement");
  app.add_option("-w,--warmup_iters", raw.warmup, "Iterations before it (default 5; p2p: 20)")
      ->check(CLI::Range(0, 1'000'000))
      ->group("Measurement");
  app.add_option("-c,--check", options.checks, "Iterations whose data is checked, per size; 0: none")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str()
      ->group("Measurement");
  app.add_option("--rounds", raw.rounds,
                 "Measurements per size, of which the median counts (default 1; 5 with --compare; p2p: 9)")
      ->check(CLI::Range(1, 100'000))
      ->group("Measurement");

  app.add_option("--json", options.json, "Write the results to this file as JSON")->group("Output");
  app.add_option("--plot", options.plot, "Draw the results into this SVG file (needs gnuplot)")->group("Output");
}

void add_sizes(CLI::App& command, Raw& raw) {
  command.add_option("-b,--minbytes", raw.min_bytes, "Smallest size, such as 8, 64K, 4M (default 8)")
      ->check(check_size)
      ->group("Sizes");
  command.add_option("-e,--maxbytes", raw.max_bytes, "Largest size (default 16M; p2p: 4M)")
      ->check(check_size)
      ->group("Sizes");
  auto* factor = command.add_option("-f,--stepfactor", raw.factor, "Factor from one size to the next (default 2)");
  auto* step =
      command.add_option("-i,--stepbytes", raw.step_bytes, "Step from one size to the next, instead of a factor");
  factor->check(CLI::Range(2, 1 << 30))->group("Sizes");
  step->check(check_size)->excludes(factor)->group("Sizes");
}

void add_pipelining(CLI::App& command, Raw& raw, Options& options) {
  command.add_option("--channels", options.channels, "Connections per pair of neighbours")
      ->check(CLI::Range(1, 64))
      ->capture_default_str()
      ->group("Pipelining");
  command.add_option("--chunk", raw.chunk, "Largest message; larger transfers are cut")
      ->check(check_size)
      ->capture_default_str()
      ->group("Pipelining");
  command.add_option("--depth", options.depth, "Messages in flight per connection")
      ->check(CLI::Range(1, 32))
      ->capture_default_str()
      ->group("Pipelining");
}

void add_moe(CLI::App& command, Raw& raw, Options& options) {
  command.add_option("--tokens", options.tokens, "Tokens per rank")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str()
      ->group("Model");
  command.add_option("--hidden", raw.hidden, "Bytes per token")
      ->check(check_size)
      ->capture_default_str()
      ->group("Model");
  command.add_option("--experts", options.experts, "Experts on all ranks together")
      ->check(CLI::Range(1, 1 << 16))
      ->capture_default_str()
      ->group("Model");
  command.add_option("--top-k", options.top_k, "Experts per token")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str()
      ->group("Model");
  command.add_option("--zipf", options.zipf, "Skew of the experts' popularity; 0: all alike")
      ->check(CLI::Range(0.0, 10.0))
      ->capture_default_str()
      ->group("Model");
  command.add_option("--seed", options.seed, "Seed of the routing")->capture_default_str()->group("Model");
}

void add_p2p(CLI::App& command, Options& options) {
  command.add_flag("--raw", options.raw, "Measure bare libfabric on the same NIC too, in turn, and print the ratios")
      ->group("Comparison");
  command.add_flag("--raw-write", options.raw_write, "As --raw, with one-sided writes instead of tagged messages")
      ->group("Comparison");
  command
      .add_option("--raw-rails", options.raw_rails,
                  "As --raw-write, and bare writes over this many NICs too, spread as Weft spreads them")
      ->check(CLI::Range(2, RawWire::kMostRails))
      ->group("Comparison");
  command
      .add_option("--raw-provider", options.raw_provider,
                  "libfabric provider for --raw (default: WEFT_PROVIDER, or the best)")
      ->group("Comparison");
  command.add_option("--connects", options.connects, "Connection pairs to make and time")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str()
      ->group("Measurement");
  command.add_option("--sub-receives", options.sub_receives, "Messages per grouped receive")
      ->check(CLI::Range(1, kMaxSubReceives))
      ->capture_default_str()
      ->group("Measurement");
}

Result<std::vector<std::size_t>> sizes_of(const Raw& raw, Command command) {
  std::size_t first = 8;
  std::size_t last = std::size_t{command == Command::kPointToPoint ? 4U : 16U} << 20;
  if (!raw.min_bytes.empty()) {
    TRY(first, parse_size(raw.min_bytes));
  }
  if (!raw.max_bytes.empty()) {
    TRY(last, parse_size(raw.max_bytes));
  }
  // One bound alone moves the other's default out of its way.
  if (raw.max_bytes.empty()) last = std::max(first, last);
  if (raw.min_bytes.empty()) first = std::min(first, last);
  std::size_t step = 0;
  if (!raw.step_bytes.empty()) {
    TRY(step, parse_size(raw.step_bytes));
    if (step == 0) return fail(Code::kArgument, "-i 0: the step between sizes must be at least 1 byte");
    return size_series(first, last, 0, step);
  }
  return size_series(first, last, raw.factor != 0 ? static_cast<std::size_t>(raw.factor) : 2, 0);
}

Result<Role> role_of(const Raw& raw, const Lookup& environment) {
  Role role;
  if (raw.rank >= 0) {
    if (raw.rank >= raw.size)
      return fail(Code::kArgument, text("--rank %d does not fit --size %d", raw.rank, raw.size));
    role.rank = raw.rank;
    role.size = role.local_size = raw.size;
    role.rendezvous = raw.rendezvous;
    role.listener = raw.listener;
  } else if (raw.ranks > 0) {
    role.launch = role.size = raw.ranks;
    return role;
  } else {
    TRY(const std::optional<Place> place, place_from_environment(environment));
    if (!place) {
      role.launch = role.size = 2;
      return role;
    }
    role.rank = place->rank;
    role.size = place->size;
    role.local_size = place->local_size;
    role.rendezvous = raw.rendezvous.empty() ? place->rendezvous : raw.rendezvous;
    if (role.rendezvous.empty()) {
      return fail(Code::kArgument,
                  text("%s does not say where rank 0 is: give --rendezvous HOST:PORT, or set MASTER_ADDR "
                       "and MASTER_PORT",
                       place->launcher.c_str()));
    }
  }
  if (role.rendezvous.empty())
    return fail(Code::kArgument, "--rank needs --rendezvous HOST:PORT, the address of rank 0");
  TRY_VOID(parse_host_port(role.rendezvous));
  return role;
}

Status check_ranks(const Options& options) {
  const int size = options.role.size;
  if (options.command == Command::kPointToPoint && size != 2) {
    return fail(Code::kArgument, text("p2p runs between 2 ranks, not %d", size));
  }
  if (size < 2)
    return fail(Code::kArgument, text("%s needs at least 2 ranks, not %d", command_name(options.command), size));
  if (options.command != Command::kMoe) return {};
  if (options.experts % size != 0) {
    return fail(Code::kArgument, text("--experts %d cannot be divided among %d ranks", options.experts, size));
  }
  if (options.top_k > options.experts) {
    return fail(Code::kArgument,
                text("--top-k %d is more than the %d experts there are", options.top_k, options.experts));
  }
  return {};
}

Result<int> abi_of(const std::string& input) {
  if (input.empty()) return 0;
  for (int version = kOldestAbi; version <= kNewestAbi; ++version) {
    if (input == "v" + std::to_string(version) || input == std::to_string(version)) return version;
  }
  return fail(Code::kArgument, text("--abi %s: use one of v%d to v%d", input.c_str(), kOldestAbi, kNewestAbi));
}

/// The Weft that was built or installed with this program.
std::string plugin_beside_program() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto prefix = program.parent_path().parent_path();
  // An installed one lies where the distribution keeps libraries of this word size.
  for (const char* folder : {"lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"}) {
    const auto plugin = prefix / folder / "libnccl-net-weft.so";
    if (std::filesystem::exists(plugin, error)) return plugin.string();
  }
  return (prefix / "lib" / "libnccl-net-weft.so").string();
}

Status complete(Options& options, const Raw& raw, const Lookup& environment) {
  TRY(options.role, role_of(raw, environment));
  TRY_VOID(check_ranks(options));
  TRY(options.abi, abi_of(raw.abi));
  TRY(options.sizes, sizes_of(raw, options.command));
  TRY(options.chunk, parse_size(raw.chunk));
  if (options.chunk < 4)
    return fail(Code::kArgument, text("--chunk %s: a message must have at least 4 bytes", raw.chunk.c_str()));
  TRY(options.hidden, parse_size(raw.hidden));
  if (options.hidden == 0) return fail(Code::kArgument, "--hidden 0: a token must have at least 1 byte");
  options.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(raw.timeout_s * 1000));

  const bool p2p = options.command == Command::kPointToPoint;
  options.iterations = raw.iterations > 0 ? raw.iterations : p2p ? 1000 : 20;
  options.warmup = raw.warmup >= 0 ? raw.warmup : p2p ? 20 : 5;
  options.rounds = raw.rounds > 0 ? raw.rounds : p2p ? 9 : options.compare.empty() ? 1 : 5;

  const std::string level = raw.debug.empty() ? debug_level_from_environment(environment) : raw.debug;
  if (!level.empty()) {
    TRY(options.log_level, parse_log_level(level));
  }
  if (options.plugin.empty()) options.plugin = plugin_beside_program();
  options.raw_write = options.raw_write || options.raw_rails > 1;
  options.raw = options.raw || options.raw_write;
  if (options.raw_provider.empty()) options.raw_provider = provider_from_environment(environment);
  options.raw_libfabric = libfabric_from_environment(environment);
  if (!options.plot.empty()) {
    options.gnuplot = find_program("gnuplot", environment);
    if (options.gnuplot.empty())
      return fail(Code::kMissing, "--plot needs gnuplot, which is not in PATH: install it (package gnuplot-nox)");
  }
  return {};
}

/// The arguments as typed: without those that the parent adds behind them for its ranks.
std::string typed_line(int argc, char** argv, bool under_parent) {
  std::string line;
  for (int i = 0; i < argc; ++i) {
    if (under_parent && std::string_view(argv[i]) == "--rank") break;
    line += (i > 0 ? " " : "") + std::string(argv[i]);
  }
  return line;
}

}  // namespace

const char* command_name(Command command) {
  switch (command) {
    case Command::kAllReduce: return "all-reduce";
    case Command::kAllToAll: return "all-to-all";
    case Command::kMoe: return "moe";
    case Command::kPointToPoint: return "p2p";
  }
  return "";
}

Parsed parse_options(int argc, char** argv, const Lookup& environment) {
  Options options;
  Raw raw;
  CLI::App app(
      "Benchmarks for NCCL net plugins: loads a plugin as NCCL does, moves data between processes, checks it.");
  app.name("weft-bench");
  app.require_subcommand(1);
  app.footer("Exit status: 0 all well, 1 a call failed or a rank died, 2 bad usage, 3 wrong data.");
  add_common(app, raw, options);
  const auto add_command = [&](Command command, const char* help) {
    CLI::App* added = app.add_subcommand(command_name(command), help);
    added->fallthrough();
    added->footer("weft-bench --help lists the options that all commands have.");
    added->callback([&options, command] { options.command = command; });
    return added;
  };
  CLI::App* all_reduce = add_command(Command::kAllReduce, "Ring all-reduce: sum of floats");
  CLI::App* all_to_all = add_command(Command::kAllToAll, "Every rank sends a part of its buffer to every rank");
  CLI::App* moe = add_command(Command::kMoe, "Mixture of experts: skewed dispatch and combine");
  CLI::App* p2p =
      add_command(Command::kPointToPoint, "Latency, bandwidth, message rate and connection time of two ranks");
  for (CLI::App* each : {all_reduce, all_to_all, p2p}) add_sizes(*each, raw);
  for (CLI::App* each : {all_reduce, all_to_all, moe}) add_pipelining(*each, raw, options);
  add_moe(*moe, raw, options);
  add_p2p(*p2p, options);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return {.options = std::nullopt, .exit_status = app.exit(error) == 0 ? kExitOk : kExitUsage};
  }
  if (auto status = complete(options, raw, environment); !status) {
    std::fprintf(stderr, "weft-bench: %s\n", status.error().what.c_str());
    return {.options = std::nullopt, .exit_status = kExitUsage};
  }
  options.command_line = typed_line(argc, argv, options.role.listener >= 0);
  return {.options = std::move(options), .exit_status = kExitOk};
}

}  // namespace weft::bench
