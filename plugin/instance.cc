#include "plugin/instance.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "plugin/discovery.h"
#include "topology/machine.h"
#include "transports/rdma/transport.h"
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

Result<std::shared_ptr<Instance>> Instance::open(const Environment& environment, const Fusions& fusions) {
  TRY(LoadedParams loaded, load_params(environment));
  warn_once(loaded.warnings);
  std::shared_ptr<Instance> instance(new Instance(std::move(loaded.params)));
  TRY(instance->library_, fabric::Library::open(instance->params_.libfabric));
  instance->cuda_ = fabric::CudaDriver::open();
  TRY_VOID(instance->open_devices());
  for (std::size_t i = 0; i < fusions.size(); ++i) {
    TRY_VOID(instance->fuse(fusions[i]));
  }
  instance->replayed_ = static_cast<int>(fusions.size());
  instance->is_used_ = false;  // making them has looked at their members
  return instance;
}

Result<bool> Instance::wants_rdma() const {
  if (params_.protocol == "rdma") return true;
  if (params_.protocol == "sendrecv") return false;
  if (params_.protocol.empty()) return offers_efa_rdma(*library_, params_);
  return fail(Code::kUsage,
              "WEFT_PROTOCOL is \"" + params_.protocol + "\"; it can be rdma, sendrecv, or empty for the better one");
}

Status Instance::open_devices() {
  TRY(const bool rdma, wants_rdma());
  if (!rdma) return open_devices(sendrecv::hints("").caps, 1);
  auto opened = open_devices(rdma::hints("").caps, static_cast<int>(kMaxRails));
  // Who has named NICs wants those: another protocol has no others.
  const bool chose_nics = !params_.nics.empty() || !params_.nics_exclude.empty();
  if (opened || !params_.protocol.empty() || chose_nics) return opened;
  WEFT_WARN("going on with the send/receive protocol: %s", opened.error().what.c_str());
  return open_devices(sendrecv::hints("").caps, 1);
}

Status Instance::open_devices(std::uint64_t caps, int most_rails) {
  const bool rdma = (caps & FI_RMA) != 0;
  TRY(auto nics, discover_nics(*library_, params_, cuda_.has_value(), "/", caps));
  // Only EFA's NICs need the tree: reading it takes a while.
  const bool is_efa = nics.front().provider() == "efa";
  TRY(const DevicePlan plan,
      plan_devices(nics, is_efa ? topology::read_machine() : topology::Tree{}, params_, most_rails));
  warn_once(plan.remarks);
  devices_.resize(plan.devices.size() + Fusions::kMost);
  std::optional<Error> first_error;
  for (const PlannedDevice& planned : plan.devices) {
    const DeviceOptions options = device_options(planned);
    auto device = rdma ? rdma::open_device(*library_, planned.rails, options)
                       : sendrecv::open_device(*library_, *planned.rails.front(), options);
    if (device) {
      add(std::make_unique<NetDevice>(std::move(*device)));
      continue;
    }
    if (!first_error) first_error = device.error();
    // When this was the only device, the error says it all.
    if (plan.devices.size() > 1) {
      WEFT_WARN("going on without %s: %s", planned.rails.front()->domain().c_str(), device.error().what.c_str());
    }
  }
  if (device_count() == 0) return std::unexpected(std::move(*first_error));
  log_banner(nics.front(), rdma ? "RDMA write" : "send/receive");
  return {};
}

DeviceOptions Instance::device_options(const PlannedDevice& planned) const {
  DeviceOptions options;
  options.guid = planned.guid;
  options.latency_us = planned.latency_us;
  options.rail_mbps = planned.rail_mbps;
  options.rail_id = planned.rail_id;
  options.cq_entries = static_cast<std::size_t>(params_.cq_size);
  options.mr_cache = params_.mr_cache;
  options.connect_timeout = std::chrono::seconds(params_.connect_timeout_s);
  options.peer_check = std::chrono::milliseconds(params_.peer_check_ms);
  options.stall_warning = std::chrono::seconds(params_.stall_warning_s);
  const bool serves_gpu_memory = (planned.rails.front()->get()->caps & FI_HMEM) != 0;
  options.cuda = cuda_ && serves_gpu_memory ? &*cuda_ : nullptr;
  return options;
}

void Instance::log_banner(const fabric::Info& nic, const char* protocol) const {
  const std::string fabric = nic.provider() == "efa" ? " (fabric " + nic.fabric() + ")" : "";
  WEFT_INFO("Weft " WEFT_VERSION ", libfabric %s (%s), provider %s%s, %s protocol, %d device%s",
            fabric::version_string(library_->version()).c_str(), library_->path().c_str(), nic.provider().c_str(),
            fabric.c_str(), protocol, device_count(), device_count() == 1 ? "" : "s");
  for (int i = 0; i < device_count(); ++i) {
    const DeviceProperties& properties = devices_[static_cast<std::size_t>(i)]->properties();
    const bool cuda = (properties.pointer_support & kPointerCuda) != 0;
    std::string rails;
    for (const auto& name : devices_[static_cast<std::size_t>(i)]->rail_names())
      rails += (rails.empty() ? "" : " + ") + name;
    WEFT_INFO("device %d is %s, %d Mb/s, PCI %s, memory: host%s%s", i, rails.c_str(), properties.speed_mbps,
              properties.pci_path.empty() ? "none" : properties.pci_path.c_str(), cuda ? ", GPU" : "",
              (properties.pointer_support & kPointerDmaBuf) != 0 ? ", dma-buf" : "");
  }
}

Result<NetDevice*> Instance::device(int index) const {
  if (index < 0 || index >= device_count()) {
    return fail(Code::kArgument, "there is no device " + std::to_string(index) + "; there are " +
                                     std::to_string(device_count()) + ", counted from 0");
  }
  is_used_.store(true, std::memory_order_relaxed);
  return devices_[static_cast<std::size_t>(index)].get();
}

void Instance::add(std::unique_ptr<NetDevice> device) {
  const int index = device_count();
  devices_[static_cast<std::size_t>(index)] = std::move(device);
  count_.store(index + 1, std::memory_order_release);
}

bool Instance::forget_replayed() noexcept {
  if (replayed_ == 0 || is_used_.load(std::memory_order_relaxed)) return false;
  for (; replayed_ > 0; --replayed_) {
    const int last = device_count() - 1;
    count_.store(last, std::memory_order_release);
    devices_[static_cast<std::size_t>(last)].reset();
  }
  return true;
}

Result<int> Instance::fuse(std::span<const int> members) {
  replayed_ = 0;
  const int index = device_count();
  for (int i = 0; i < index; ++i) {
    if (std::ranges::equal(devices_[static_cast<std::size_t>(i)]->properties().members, members)) return i;
  }
  if (index == static_cast<int>(devices_.size())) {
    return fail(Code::kUsage, "NCCL wants more than " + std::to_string(Fusions::kMost) + " devices made of others");
  }
  TRY(auto made, make_fused(members));
  WEFT_INFO("device %d is %s: NCCL made it one, %d Mb/s", index, made->properties().name.c_str(),
            made->properties().speed_mbps);
  add(std::move(made));
  return index;
}

Result<std::unique_ptr<NetDevice>> Instance::make_fused(std::span<const int> members) const {
  std::vector<Device*> parts;
  std::vector<const fabric::Info*> rails;
  std::string name;
  for (const int member : members) {
    TRY(const NetDevice* const device, this->device(member));
    if (std::ranges::count(members, member) > 1 || !device->properties().members.empty()) {
      return fail(Code::kArgument, "device " + std::to_string(member) + " stands twice, or is made of others itself");
    }
    std::ranges::copy(device->parts(), std::back_inserter(parts));
    std::ranges::copy(device->rail_infos(), std::back_inserter(rails));
    name += (name.empty() ? "" : "+") + device->properties().name;
  }
  std::vector<int> indices(members.begin(), members.end());
  DeviceOptions options = parts.front()->options();
  if (options.transport != TransportId::kRdma) {
    return std::make_unique<NetDevice>(std::move(parts), std::move(indices), std::move(name));
  }
  if (rails.size() > kMaxRails) {
    return fail(Code::kUsage, name + " would have " + std::to_string(rails.size()) + " rails; " +
                                  std::to_string(kMaxRails) + " are possible");
  }
  TRY(auto device, rdma::open_device(*library_, rails, options));
  return std::make_unique<NetDevice>(std::move(device), std::move(indices), std::move(name));
}

}  // namespace weft::plugin
