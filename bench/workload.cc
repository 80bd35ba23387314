#include "bench/workload.h"

#include "bench/all_reduce.h"
#include "bench/all_to_all.h"
#include "bench/moe.h"

namespace weft::bench {

MeshPlan mesh_plan(const Session& session) {
  const Options& options = session.options;
  MeshPlan plan{.device = options.device,
                .channels = options.channels,
                .depth = options.depth,
                .send_to = {},
                .receive_from = {}};
  const int size = session.size();
  // A ring has one neighbour on each side; the other patterns meet everybody, nearest first.
  const int distances = options.command == Command::kAllReduce ? 1 : size - 1;
  for (int distance = 1; distance <= distances; ++distance) {
    plan.send_to.push_back((session.rank() + distance) % size);
    plan.receive_from.push_back((session.rank() + size - distance) % size);
  }
  return plan;
}

Result<std::unique_ptr<Workload>> make_workload(const Session& session, Mesh& mesh) {
  switch (session.options.command) {
    case Command::kAllReduce: return AllReduce::create(session, mesh);
    case Command::kAllToAll: return AllToAll::create(session, mesh);
    case Command::kMoe: return Moe::create(session, mesh);
    case Command::kPointToPoint: break;
  }
  return fail(Code::kInternal, "p2p has no workload");
}

}  // namespace weft::bench
