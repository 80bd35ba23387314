// One run of the soak in this process, which must have been started with the plan's environment.
#pragma once

#include <string>

#include "tests/efa/plan.h"

namespace weft::soak {

/// What a run that went well did, in a few words; or what went wrong.
Result<std::string> run(const SoakPlan& plan, const std::string& plugin_path);

}  // namespace weft::soak
