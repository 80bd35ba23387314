// The parameters: what a user sets with WEFT_* variables, read once per start and never changed afterwards.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "weft/result.h"

namespace weft {

/// A copy of the variables of an environment whose names begin with WEFT_.
using Environment = std::map<std::string, std::string>;

/// Those of this process. Not safe against a thread that changes the environment at the same time, as nothing
/// is.
Environment process_environment();

/// One value per row of params.def, with the defaults of the table.
struct Params {
#define WEFT_TEXT(name, variable, initial, help) std::string name = initial;
#define WEFT_INTEGER(name, variable, initial, lowest, highest, unit, help) int name = initial;
#define WEFT_SWITCH(name, variable, initial, on_bad, help) bool name = initial;
#include "weft/params.def"
};

struct LoadedParams {
  Params params;
  /// Sentences for the user: values that were not taken, variables that do not exist. The caller logs each
  /// once.
  std::vector<std::string> warnings;
};

/// Reads every row from `environment`. A variable set to nothing counts as not set. Fails only for the rows
/// that params.def marks so.
Result<LoadedParams> load_params(const Environment& environment);

/// README's table of parameters, in Markdown.
std::string params_markdown();

}  // namespace weft
