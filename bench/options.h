// The command line of weft-bench.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/environment.h"
#include "weft/nccl/net_common.h"
#include "weft/result.h"

namespace weft::bench {

enum class Command : std::uint8_t { kAllReduce, kAllToAll, kMoe, kPointToPoint };

/// Which process this is: the parent that starts local ranks, or one rank.
struct Role {
  int launch = 0;  ///< ranks to start; 0: this process is a rank
  int rank = 0;
  int size = 0;
  int local_size = 0;      ///< ranks on this machine
  std::string rendezvous;  ///< HOST:PORT of rank 0
  int listener = -1;       ///< rank 0 under the parent: the listening socket it inherits
};

struct Options {
  Command command = Command::kAllReduce;
  Role role;
  std::chrono::milliseconds timeout{30'000};  ///< for ranks to arrive and for transfers that do not move
  nccl::ncclDebugLogLevel log_level = nccl::NCCL_LOG_WARN;

  std::string plugin;
  std::string compare;  ///< a second plugin; empty: none
  int abi = 0;          ///< of both plugins; 0: the newest each has
  int device = 0;

  std::vector<std::size_t> sizes;
  int iterations = 20;
  int warmup = 5;
  int checks = 1;  ///< checked iterations per size; 0: data is not looked at
  int rounds = 1;  ///< measurements per size; the median counts
  int channels = 1;
  int depth = 8;  ///< messages in flight per connection
  std::size_t chunk = 512 * 1024;

  // moe
  int tokens = 512;  ///< per rank
  std::size_t hidden = 7168;
  int experts = 64;
  int top_k = 8;
  double zipf = 0.8;
  std::uint64_t seed = 1;

  // p2p
  bool raw = false;
  bool raw_write = false;  ///< with one-sided writes
  int raw_rails = 1;       ///< more than one: also bare writes over as many NICs
  std::string raw_provider;
  std::string raw_libfabric;
  int connects = 20;  ///< connection pairs to time
  int sub_receives = 1;

  std::string json;
  std::string plot;
  std::string gnuplot;       ///< the program, where a plot is wanted
  std::string command_line;  ///< as typed, for reports
};

const char* command_name(Command command);

/// What the command line asks for, or how the program must exit: help printed (0) or a usage error explained (2).
struct Parsed {
  std::optional<Options> options;
  int exit_status = 0;
};

/// Parses and checks. Prints help and errors itself.
Parsed parse_options(int argc, char** argv, const Lookup& environment);

}  // namespace weft::bench
