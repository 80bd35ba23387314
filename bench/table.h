// The table of a collective benchmark, in nccl-tests' columns.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/workload.h"

namespace weft::bench {

/// What was measured over one plugin for one row.
struct Measured {
  std::vector<double> seconds;  ///< of one iteration, the mean of all ranks; one value per round
  std::size_t wrong = 0;        ///< elements, all ranks together

  double time() const;                                   ///< the median round, in seconds
  double algorithm_bandwidth(const Shape& shape) const;  ///< GB/s
  double bus_bandwidth(const Shape& shape) const;        ///< GB/s
};

/// One row: the same pattern and size over every plugin.
struct Row {
  Shape shape;
  std::vector<Measured> measured;

  /// How much faster the first plugin is than the second: the median over the rounds.
  double speed_ratio() const;
};

/// The lines above the rows. `names` are the plugins'; with two of them there is a column for their ratio.
/// `labelled`: rows carry labels.
std::string table_header(const std::vector<std::string>& names, bool labelled);
/// One line, newline included. `labelled` as in the header.
std::string table_row(const Row& row, bool labelled);

/// Microseconds in seven columns, with as many decimals as are worth reading.
std::string time_text(double seconds);

}  // namespace weft::bench
