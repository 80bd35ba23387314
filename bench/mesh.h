// All connections of one rank over one plugin, and how they are made.
#pragma once

#include <memory>
#include <vector>

#include "bench/idle.h"
#include "bench/net_plugin.h"
#include "bench/pipe.h"
#include "bench/rendezvous.h"
#include "weft/result.h"

namespace weft::bench {

/// Who is connected to whom, as one rank sees it.
struct MeshPlan {
  int device = 0;
  int channels = 1;  ///< connections per peer and direction
  int depth = 8;     ///< messages in flight per connection
  std::vector<int> send_to;
  std::vector<int> receive_from;
};

/// Pipes by rank; nullptr where the plan has none.
struct Mesh {
  std::vector<std::unique_ptr<Pipe>> send;
  std::vector<std::unique_ptr<Pipe>> receive;
  double connect_s = 0;  ///< from the first connect or accept call to the last comm of this rank

  Status close();
};

/// Listens, exchanges handles, and connects and accepts in turn until all pipes are there. All ranks must call it with
/// plans that fit each other.
Result<Mesh> connect_mesh(NetPlugin& plugin, const MeshPlan& plan, Rendezvous& rendezvous, Idle& idle);

}  // namespace weft::bench
