// A communication pattern that can be run, timed and checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/mesh.h"
#include "bench/session.h"
#include "weft/result.h"

namespace weft::bench {

/// What one row of the table is about.
struct Shape {
  std::string label;           ///< "dispatch", "combine"; empty where the size says it all
  std::size_t bytes = 0;       ///< the size column
  std::size_t count = 0;       ///< elements
  const char* type = "";       ///< "float", "uint8"
  const char* redop = "";      ///< "sum", "none"
  double algorithm_bytes = 0;  ///< algbw is these over the time
  double wire_bytes = 0;       ///< busbw is these over the time: what the busiest rank must move
};

/// One rank's part of a pattern over one plugin. One thread. All ranks select the same rows in the same order.
class Workload {
 public:
  virtual ~Workload() = default;

  virtual std::size_t rows() const = 0;
  virtual Shape shape(std::size_t row) const = 0;
  /// A sentence about the run as a whole; empty if there is nothing to say.
  virtual std::string note() const { return {}; }

  /// Makes `row` the one the calls below work on.
  virtual void select(std::size_t row) = 0;
  /// Writes the inputs of an iteration and spoils the outputs.
  virtual void fill(std::uint64_t iteration) = 0;
  /// One run. Blocks, polling.
  virtual Status run() = 0;
  /// Elements of the outputs that are not what `iteration`'s inputs of all ranks give.
  virtual std::size_t wrong(std::uint64_t iteration) const = 0;
};

/// Which connections the command's workload needs on this rank.
MeshPlan mesh_plan(const Session& session);

/// The workload of the command, over connections made to that plan.
Result<std::unique_ptr<Workload>> make_workload(const Session& session, Mesh& mesh);

}  // namespace weft::bench
