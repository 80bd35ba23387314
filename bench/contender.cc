#include "bench/contender.h"

#include "bench/text.h"

namespace weft::bench {

Result<std::unique_ptr<Contender>> open_contender(const Session& session, const std::string& path) {
  const Options& options = session.options;
  auto contender = std::make_unique<Contender>();
  TRY(contender->plugin, NetPlugin::load(path, options.abi));
  NetPlugin& plugin = *contender->plugin;
  // NCCL's identifier is a hash that all ranks share; any value that all ranks share will do.
  constexpr std::uint64_t kCommunicator = 0x776566742d626e63;
  TRY_VOID(plugin.init(kCommunicator));
  TRY(const int devices, plugin.devices());
  if (devices < 1) return fail(Code::kMissing, text("plugin %s offers no device", plugin.name()));
  if (options.device >= devices) {
    return fail(Code::kArgument,
                text("--device %d: plugin %s has devices 0 to %d", options.device, plugin.name(), devices - 1));
  }
  TRY(contender->device, plugin.properties(options.device));
  return contender;
}

Result<std::vector<std::unique_ptr<Contender>>> open_contenders(const Session& session) {
  std::vector<std::unique_ptr<Contender>> contenders;
  for (const std::string& path : {session.options.plugin, session.options.compare}) {
    if (path.empty()) continue;
    TRY(auto contender, open_contender(session, path));
    contenders.push_back(std::move(contender));
  }
  return contenders;
}

}  // namespace weft::bench
