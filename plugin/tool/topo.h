// weft topo: what Weft knows of a machine, and what it would make of it.
#pragma once

#include <cstdint>
#include <string>

namespace weft::tool {

/// What the program's exit status says; as weft-bench's.
enum ExitStatus : int {
  kExitOk = 0,
  kExitFailed = 1,  ///< something could not be read or written
  kExitUsage = 2    ///< the command line cannot be right
};

enum class Form : std::uint8_t { kText, kJson, kNcclXml };

struct TopoOptions {
  Form form = Form::kText;
  std::string svg;         ///< a file to draw the machine into; empty: none
  std::string from;        ///< hwloc's XML of a machine; empty: this one
  std::string root = "/";  ///< this machine's files
  int rails = 0;           ///< NICs of one device; 0: as the machine says
};

/// Prints to stdout, errors to stderr. Returns the exit status.
int run_topo(const TopoOptions& options);

}  // namespace weft::tool
