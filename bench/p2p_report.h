// What the point-to-point benchmark has measured, and how it is shown.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/plot.h"

namespace weft::bench {

/// One size over one subject: a plugin or bare libfabric. One value per round.
struct P2pMeasured {
  std::vector<double> latency;    ///< seconds one way
  std::vector<double> bandwidth;  ///< bytes per second
  std::size_t wrong = 0;          ///< bytes, on both ranks together
};

struct P2pRow {
  std::size_t bytes = 0;
  std::vector<P2pMeasured> measured;  ///< by subject
};

/// What is measured once and not per size.
struct P2pSubject {
  std::string name;
  std::vector<double> rate;      ///< messages of 8 B per second, one value per round
  double first_connect_s = 0;    ///< the very first pair of connections; 0: not measured
  std::vector<double> connects;  ///< seconds of each later pair
};

struct P2pResults {
  std::vector<P2pSubject> subjects;  ///< the first is what the others are compared with
  std::vector<P2pRow> rows;
};

std::string p2p_header(const std::vector<P2pSubject>& subjects);
std::string p2p_row(const P2pRow& row);
/// The few numbers that matter, with their ratios.
std::string p2p_summary(const P2pResults& results);

/// Adds rows and subjects to `report`.
void add_p2p(nlohmann::ordered_json& report, const P2pResults& results);
std::vector<Panel> p2p_panels(const P2pResults& results);

}  // namespace weft::bench
