// A plugin under test: loaded, initialised, and connected to the other ranks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/mesh.h"
#include "bench/net_plugin.h"
#include "bench/session.h"
#include "weft/result.h"

namespace weft::bench {

struct Contender {
  std::unique_ptr<NetPlugin> plugin;
  NetDevice device;
  Mesh mesh;
};

/// Loads the plugin and looks at the device it is to use.
Result<std::unique_ptr<Contender>> open_contender(const Session& session, const std::string& path);

/// Opens the plugin of the options and, where there is one, the plugin to compare with.
Result<std::vector<std::unique_ptr<Contender>>> open_contenders(const Session& session);

}  // namespace weft::bench
