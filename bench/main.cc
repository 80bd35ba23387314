// weft-bench: the parent that starts ranks, or one rank.
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "bench/exit_status.h"
#include "bench/idle.h"
#include "bench/launcher.h"
#include "bench/net_plugin.h"
#include "bench/options.h"
#include "bench/plugin_log.h"
#include "bench/point_to_point.h"
#include "bench/rendezvous.h"
#include "bench/rendezvous_server.h"
#include "bench/runner.h"
#include "bench/session.h"

namespace weft::bench {
namespace {

/// What one rank needs to be among the others. The server (rank 0 only) outlives this rank's own connection to it.
struct Membership {
  std::unique_ptr<RendezvousServer> server;
  Rendezvous rendezvous;
};

Result<Membership> join(const Options& options) {
  const Role& role = options.role;
  TRY(const HostPort where, parse_host_port(role.rendezvous));
  std::unique_ptr<RendezvousServer> server;
  if (role.rank == 0) {
    Descriptor listener(role.listener);
    if (!listener) {
      TRY(listener, listen_on(where));
    }
    server = RendezvousServer::start(std::move(listener), role.size, options.timeout);
  }
  auto rendezvous = Rendezvous::join(where, role.rank, role.size, options.timeout);
  // Without rank 0 there is no run: the server ends with this process, and waits for nobody.
  if (!rendezvous) {
    (void)server.release();
    return std::unexpected(std::move(rendezvous).error());
  }
  return Membership{std::move(server), std::move(*rendezvous)};
}

/// Ends the process at once. Destructors are left out on purpose: they would call a plugin that has just failed.
[[noreturn]] void give_up(const Options& options, const Error& error) {
  std::fflush(stdout);
  std::fprintf(stderr, "rank %d: %s\n", options.role.rank, error.what.c_str());
  _exit(kExitFailed);
}

int run_rank(const Options& options) {
  // A peer or a pipe that is gone is an error of the call that meets it.
  std::signal(SIGPIPE, SIG_IGN);
  configure_plugin_log(options.role.rank, options.log_level);
  auto joined = join(options);
  if (!joined) give_up(options, joined.error());
  Rendezvous& rendezvous = joined->rendezvous;
  Idle idle(rendezvous, is_oversubscribed(options.role.local_size), options.timeout);
  const Session session{options, rendezvous, idle};
  const auto wrong = options.command == Command::kPointToPoint ? run_point_to_point(session) : run_workload(session);
  if (!wrong) {
    rendezvous.report_failure("rank " + std::to_string(options.role.rank) + " failed: " + wrong.error().what);
    give_up(options, wrong.error());
  }
  rendezvous.leave();
  return *wrong == 0 ? kExitOk : kExitWrongData;
}

int run_parent(const Options& options, int argc, char** argv) {
  // A plugin that cannot be loaded is one error here, and would be one per rank later.
  for (const std::string& path : {options.plugin, options.compare}) {
    if (path.empty()) continue;
    if (const auto plugin = NetPlugin::load(path, options.abi); !plugin) {
      std::fprintf(stderr, "weft-bench: %s\n", plugin.error().what.c_str());
      return kExitUsage;
    }
  }
  const auto status = launch_ranks(options, argc, argv);
  if (status) return *status;
  std::fprintf(stderr, "weft-bench: %s\n", status.error().what.c_str());
  return kExitFailed;
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  using namespace weft::bench;
  const Parsed parsed = parse_options(argc, argv, process_environment());
  if (!parsed.options) return parsed.exit_status;
  return parsed.options->role.launch > 0 ? run_parent(*parsed.options, argc, argv) : run_rank(*parsed.options);
}
