// Everything bench/ reads from the environment: which rank a launcher says this process is, and a few defaults.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "weft/result.h"

namespace weft::bench {

/// Looks a variable up; nullptr where it is not set. Tests pass their own.
using Lookup = std::function<const char*(const char* name)>;

/// The environment of this process.
Lookup process_environment();

/// Where a launcher has put this process.
struct Place {
  int rank = 0;
  int size = 1;
  int local_size = 1;      ///< ranks on this machine, `size` where the launcher does not say
  std::string rendezvous;  ///< HOST:PORT of rank 0, empty where the launcher does not say
  std::string launcher;    ///< "Open MPI", "PMI", "Slurm", "torchrun"
};

/// Reads Open MPI's, PMI's (MPICH, Intel MPI), Slurm's and torchrun's variables, in this order. Nothing where none of
/// them is set; an error where they contradict themselves.
Result<std::optional<Place>> place_from_environment(const Lookup& lookup);

/// NCCL_DEBUG, as written; empty where it is not set.
std::string debug_level_from_environment(const Lookup& lookup);

/// The provider the user asked Weft for (WEFT_PROVIDER) and the libfabric to open (WEFT_LIBFABRIC), so that --raw
/// measures the same ones; empty where not set.
std::string provider_from_environment(const Lookup& lookup);
std::string libfabric_from_environment(const Lookup& lookup);

/// The first executable file of that name in the folders of PATH; empty if there is none.
std::string find_program(const std::string& name, const Lookup& lookup);

}  // namespace weft::bench
