// What one run of the soak does, all of it chosen by a seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/stream.h"

namespace weft::soak {

/// Two devices of the plugin talk to each other.
struct SoakPlan {
  static SoakPlan of(std::uint64_t seed);

  /// NAME=VALUE for the environment of the process that makes the run.
  std::vector<std::string> environment() const;
  /// In one line.
  std::string text() const;

  std::uint64_t seed = 0;
  std::size_t rails = 1;  ///< NICs of each of the two devices
  std::size_t queue = 0;  ///< work requests that a NIC's send queue holds; 0: as many as EFA's
  std::size_t peer_check_ms = 1000;
  std::string knobs;            ///< of all NICs, from the start
  std::string errors;           ///< knobs of all NICs once the connections are there
  std::size_t nic_fails = 0;    ///< after so many steps one NIC fails; 0: none
  std::size_t nic_returns = 0;  ///< and is back so many steps later
  std::size_t lives = 1;        ///< how often each connection is made
  struct Direction {
    bool is_back;  ///< from the second device to the first
    StreamPlan stream;
  };
  std::vector<Direction> streams;
};

}  // namespace weft::soak
