#include "plugin/instance.h"

#include <chrono>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "plugin/discovery.h"
#include "transports/sendrecv/transport.h"
#include "weft/log.h"

namespace weft::plugin {
namespace {

/// Says each thing about the environment once per process, however often Weft is started.
void warn_once(const std::vector<std::string>& warnings) {
  // Static: freed when the library goes, which touches memory only.
  static std::mutex mutex;
  static std::set<std::string> said;
  const std::lock_guard guard(mutex);
  for (const auto& warning : warnings) {
    if (said.insert(warning).second) WEFT_WARN("%s", warning.c_str());
  }
}

}  // namespace

Result<std::shared_ptr<Instance>> Instance::open(const Environment& environment) {
  TRY(LoadedParams loaded, load_params(environment));
  warn_once(loaded.warnings);
  std::shared_ptr<Instance> instance(new Instance(std::move(loaded.params)));
  TRY(instance->library_, fabric::Library::open(instance->params_.libfabric));
  instance->cuda_ = fabric::CudaDriver::open();
  TRY_VOID(instance->open_devices());
  return instance;
}

Status Instance::open_devices() {
  TRY(const auto nics, discover_nics(*library_, params_, cuda_.has_value()));
  std::optional<Error> first_error;
  for (const auto& nic : nics) {
    auto device = sendrecv::open_device(*library_, nic, device_options(nic));
    if (device) {
      devices_.push_back(std::move(*device));
      continue;
    }
    if (!first_error) first_error = device.error();
    // When this was the only NIC, the error says it all.
    if (nics.size() > 1) WEFT_WARN("going on without %s: %s", nic.domain().c_str(), device.error().what.c_str());
  }
  if (devices_.empty()) return std::unexpected(std::move(*first_error));
  log_banner(nics.front().provider());
  return {};
}

DeviceOptions Instance::device_options(const fabric::Info& info) const {
  DeviceOptions options;
  options.cq_entries = static_cast<std::size_t>(params_.cq_size);
  options.mr_cache = params_.mr_cache;
  options.connect_timeout = std::chrono::seconds(params_.connect_timeout_s);
  options.peer_check = std::chrono::milliseconds(params_.peer_check_ms);
  options.stall_warning = std::chrono::seconds(params_.stall_warning_s);
  const bool serves_gpu_memory = (info.get()->caps & FI_HMEM) != 0;
  options.cuda = cuda_ && serves_gpu_memory ? &*cuda_ : nullptr;
  return options;
}

void Instance::log_banner(const std::string& provider) const {
  WEFT_INFO("Weft " WEFT_VERSION ", libfabric %s (%s), provider %s, send/receive protocol, %d device%s",
            fabric::version_string(library_->version()).c_str(), library_->path().c_str(), provider.c_str(),
            device_count(), device_count() == 1 ? "" : "s");
  for (int i = 0; i < device_count(); ++i) {
    const DeviceProperties& properties = devices_[static_cast<std::size_t>(i)]->properties();
    const bool cuda = (properties.pointer_support & kPointerCuda) != 0;
    WEFT_INFO("device %d is %s, %d Mb/s, PCI %s, memory: host%s%s", i, properties.name.c_str(), properties.speed_mbps,
              properties.pci_path.empty() ? "none" : properties.pci_path.c_str(), cuda ? ", GPU" : "",
              (properties.pointer_support & kPointerDmaBuf) != 0 ? ", dma-buf" : "");
  }
}

Result<Device*> Instance::device(int index) const {
  if (index < 0 || index >= device_count()) {
    return fail(Code::kArgument, "there is no device " + std::to_string(index) + "; there are " +
                                     std::to_string(device_count()) + ", counted from 0");
  }
  return devices_[static_cast<std::size_t>(index)].get();
}

}  // namespace weft::plugin
