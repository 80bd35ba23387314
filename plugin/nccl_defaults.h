// What NCCL should be told on this machine where the user has not said it: settings of the instance table, and the
// topology file where it would see less of the machine by itself.
#pragma once

#include <map>
#include <string>

#include "topology/tree.h"
#include "weft/params.h"
#include "weft/result.h"

namespace weft::plugin {

struct NcclDefaults {
  struct Value {
    std::string text;
    std::string reason;
  };
  std::map<std::string, Value, std::less<>> values;  ///< by variable
  std::string topology_xml;                          ///< what NCCL_TOPO_FILE should hold; empty: NCCL needs none
};

/// `tree`: this machine's. Without EFA NICs there is nothing to say. Fails for WEFT_NICS and WEFT_NICS_EXCLUDE that
/// cannot be followed.
Result<NcclDefaults> nccl_defaults(const topology::Tree& tree, const Params& params);

}  // namespace weft::plugin
