// From what libfabric offers on this machine to the NICs that Weft will open.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "plugin/selection.h"
#include "transports/fabric/info.h"
#include "transports/fabric/library.h"
#include "weft/params.h"
#include "weft/result.h"

namespace weft::plugin {

/// What the selection needs to know of an offer. Interfaces are looked up in sysfs under `root` ("/").
Offer describe(const fabric::Info& info, const std::filesystem::path& root);

/// Asks `library` for every provider with the capabilities `caps` and selects as select_offers() does.
/// `want_gpu_memory`: of two offers of one NIC, take the one that also serves GPU memory (FI_HMEM). Warns once when EFA
/// hardware is there but the library does not offer it; with WEFT_REQUIRE that is the error. A provider that the user
/// named is taken as meant: then EFA is not looked for. Never returns an empty list.
Result<std::vector<fabric::Info>> discover_nics(const fabric::Library& library, const Params& params,
                                                bool want_gpu_memory, const std::filesystem::path& root = "/",
                                                std::uint64_t caps = FI_MSG | FI_TAGGED);

/// Whether `library` offers EFA NICs with one-sided operations, and the user has not asked for another provider.
bool offers_efa_rdma(const fabric::Library& library, const Params& params);

}  // namespace weft::plugin
