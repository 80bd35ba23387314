#include "tests/lab/options.h"

#include <getopt.h>

#include <cstdio>
#include <cstdlib>

#include "tests/lab/check.h"

namespace weft::lab {
namespace {

constexpr char kUsage[] =
    "usage: weft-nccl-test [options] [all-reduce|all-gather|reduce-scatter|reduce|broadcast|all-to-all...]\n"
    "  -p N  processes, each a host of its own (2)     -g N  GPUs in each process (1)\n"
    "  -b, -e, -f  sizes as in nccl-tests (8, 16M, 8)  -n N  iterations (2)\n"
    "  -d TYPE (float; all)  -o OP (sum; all)           -R    registered buffers\n"
    "  -T  print what a collective takes, behind one more that is not timed\n"
    "  -t S  time limit of a process (600)\n"
    "  -s SCENARIO  collectives; split: two halves of a communicator; recreate: three communicators in turn;\n"
    "               abort: a collective that a rank never joins; kill: a rank dies in a collective\n";

size_t bytes_of(const char* text) {
  char* end = nullptr;
  const size_t number = strtoul(text, &end, 10);
  switch (*end) {
    case 'K': return number << 10;
    case 'M': return number << 20;
    case 'G': return number << 30;
    default: return number;
  }
}

// The value of that name, or all up to the last one.
template <class Enum>
std::vector<Enum> chosen(const std::string& name, Enum last, bool (*parse)(const std::string&, Enum*)) {
  std::vector<Enum> values(1);
  if (name == "all") {
    values.clear();
    for (int i = 0; i <= static_cast<int>(last); ++i) values.push_back(static_cast<Enum>(i));
  } else if (!parse(name, &values[0])) {
    fail("no such value", name.c_str());
  }
  return values;
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options options;
  int option = 0;
  while ((option = getopt(argc, argv, "p:g:b:e:f:n:d:o:RTt:s:P:W:")) != -1) {
    switch (option) {
      case 'p': options.processes = atoi(optarg); break;
      case 'g': options.gpus = atoi(optarg); break;
      case 'b': options.min_bytes = bytes_of(optarg); break;
      case 'e': options.max_bytes = bytes_of(optarg); break;
      case 'f': options.factor = bytes_of(optarg); break;
      case 'n': options.iterations = atoi(optarg); break;
      case 'd': options.elements = chosen(optarg, Element::kBf16, parse_element); break;
      case 'o': options.operations = chosen(optarg, Operation::kAverage, parse_operation); break;
      case 'R': options.registered = true; break;
      case 'T': options.timed = true; break;
      case 't': options.limit_s = atoi(optarg); break;
      case 's': options.scenario = optarg; break;
      case 'P': options.process = atoi(optarg); break;
      case 'W': options.world = atoi(optarg); break;
      default: fputs(kUsage, stderr); exit(2);
    }
  }
  options.collectives.assign(argv + optind, argv + argc);
  if (options.collectives.empty()) {
    options.collectives = {"all-reduce", "all-gather", "reduce-scatter", "reduce", "broadcast", "all-to-all"};
  }
  if (options.processes < 1 || options.gpus < 1 || options.factor < 2 || options.min_bytes < 8) {
    fputs(kUsage, stderr);
    exit(2);
  }
  return options;
}

}  // namespace weft::lab
