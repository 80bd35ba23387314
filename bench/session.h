// What every benchmark of one rank works with.
#pragma once

#include "bench/idle.h"
#include "bench/options.h"
#include "bench/rendezvous.h"

namespace weft::bench {

struct Session {
  const Options& options;
  Rendezvous& rendezvous;
  Idle& idle;

  int rank() const { return rendezvous.rank(); }
  int size() const { return rendezvous.size(); }
  bool is_first() const { return rank() == 0; }
};

}  // namespace weft::bench
