#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tests/lab/element.h"

namespace weft::lab {

struct Options {
  int processes = 2;  // each a host of its own
  int gpus = 1;       // in each process, a rank on each
  size_t min_bytes = 8, max_bytes = size_t{16} << 20, factor = 8;
  int iterations = 2;
  // Of the run in progress; all are those below.
  Element element = Element::kF32;
  Operation operation = Operation::kSum;
  std::vector<Element> elements = {Element::kF32};
  std::vector<Operation> operations = {Operation::kSum};
  bool registered = false;  // buffers are registered with the communicator
  bool timed = false;       // rank 0 says how long each collective takes
  int limit_s = 600;        // a process that takes longer is killed
  std::string scenario = "collectives";
  std::vector<std::string> collectives;
  // Of a child: its number and the descriptor of the shared page.
  int process = -1, world = -1;

  int ranks() const { return processes * gpus; }
  // Room for a buffer: an element for each rank at least.
  size_t buffer_bytes() const {
    const size_t least = sizeof(double) * static_cast<size_t>(ranks());
    return max_bytes > least ? max_bytes : least;
  }
};

Options parse_options(int argc, char** argv);

}  // namespace weft::lab
