// What a polling loop does while nothing moves: spin, then give the core away, look whether a rank has failed, and
// after a time limit give up.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "bench/rendezvous.h"
#include "weft/result.h"

namespace weft::bench {

/// One thread. A loop calls moved() when something moved and keep_waiting() when nothing did.
class Idle {
 public:
  /// `limit`: how long nothing may move. `oversubscribed`: more ranks than cores share this machine, so that spinning
  /// takes the core from the rank that is waited for.
  Idle(Rendezvous& rendezvous, bool oversubscribed, std::chrono::milliseconds limit)
      : rendezvous_(&rendezvous),
        spins_(oversubscribed ? kSpinsWhenCrowded : kSpins),
        limit_(limit),
        neighbours_(static_cast<std::size_t>(rendezvous.size()), false) {}

  /// This rank exchanges messages with `rank`: when it dies, the plugin is given time to say so itself.
  void add_neighbour(int rank) { neighbours_[static_cast<std::size_t>(rank)] = true; }

  void moved() { empty_polls_ = 0; }

  /// False: give up, and report error().
  [[nodiscard]] bool keep_waiting() { return ++empty_polls_ < spins_ || wait_slowly(); }

  /// Why keep_waiting() gave up. `waiting_for`: "receive from rank 3".
  Error error(const std::string& waiting_for) const;

 private:
  bool wait_slowly();

  static constexpr unsigned kSpins = 200;
  static constexpr unsigned kSpinsWhenCrowded = 4;

  Rendezvous* rendezvous_;
  unsigned spins_;
  std::chrono::milliseconds limit_;
  std::vector<bool> neighbours_;
  unsigned empty_polls_ = 0;
  Clock::time_point since_;      ///< when the slow waiting began
  Clock::time_point next_look_;  ///< when to look at the rendezvous again
  Clock::time_point noticed_;    ///< when the failure was first seen
  std::optional<Failure> failure_;
};

/// True where `local_ranks` are more than the cores this process may use.
bool is_oversubscribed(int local_ranks);

}  // namespace weft::bench
