#include "transports/connection/device.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <climits>

#include "transports/connection/connector.h"
#include "weft/log.h"

namespace weft {
namespace {

// Where neither the provider nor the kernel knows a link's speed (loopback, virtual interfaces) NCCL's own sockets
// assume 10 Gb/s, and so does Weft, so that NCCL weighs both alike.
constexpr int kUnknownSpeedMbps = 10'000;

// NCCL's test() reports sizes as int, and NCCL likes its limits to be powers of two.
constexpr std::size_t kMaxMessageBytes = 1UL << 30;
static_assert(kMaxMessageBytes <= INT_MAX);

DeviceProperties describe(std::span<const std::unique_ptr<Rail>> rails, const DeviceOptions& options) {
  const fabric::Info& info = rails.front()->info();
  DeviceProperties properties;
  properties.name = info.domain();
  properties.pci_path = info.pci_path();
  properties.guid = options.guid;
  properties.latency_us = options.latency_us;
  properties.rail_id = options.rail_id;
  properties.pointer_support = kPointerHost | (options.cuda != nullptr ? kPointerCuda : 0);
  properties.max_message_bytes = kMaxMessageBytes;
  for (const auto& rail : rails) {
    const int speed = std::max(rail->info().speed_mbps(), options.rail_mbps);
    properties.speed_mbps += speed > 0 ? speed : kUnknownSpeedMbps;
    properties.max_message_bytes = std::min(properties.max_message_bytes, rail->info().get()->ep_attr->max_msg_size);
  }
  properties.max_comms = static_cast<int>(kMaxIds);
  properties.max_receives = options.max_receives;
  return properties;
}

}  // namespace

std::string local_host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

Device::Device(const DeviceOptions& options, std::vector<std::unique_ptr<Rail>> rails)
    : options_(options),
      rails_(std::move(rails)),
      lead_(rails_.front().get()),
      peers_(rail().addresses()),
      memory_(domains(), options.mr_cache, options.cuda, options.memory_access) {}

Result<std::unique_ptr<Device>> Device::open(const fabric::Library& library, std::span<const fabric::Info* const> infos,
                                             const DeviceOptions& options) {
  std::vector<std::unique_ptr<Rail>> rails;
  for (const fabric::Info* info : infos.first(std::min(infos.size(), kMaxRails))) {
    TRY(auto rail, Rail::open(library, *info, options.cq_entries));
    rails.push_back(std::move(rail));
  }
  std::unique_ptr<Device> device(new Device(options, std::move(rails)));
  TRY_VOID(device->prepare());
  return device;
}

Status Device::prepare() {
  properties_ = describe(rails_, options_);
  TRY(address_, rail().endpoint().address());
  if (address_.size() > kMaxAddressBytes) {
    return fail(Code::kUsage, "addresses of provider " + rail().info().provider() + " take " +
                                  std::to_string(address_.size()) + " bytes; a connect handle has room for " +
                                  std::to_string(kMaxAddressBytes));
  }
  peers_.set_address_size(address_.size());
  const SpinGuard guard(lock_);
  TRY(control_, ControlChannel::open(rail(), peers_, registry_, options_.transport));
  return {};
}

Device::~Device() {
  // First the endpoints: afterwards the provider touches no buffer and no operation any more.
  for (const auto& rail : rails_) rail->shut();
  peers_.start_closing();
}

std::vector<const fabric::Domain*> Device::domains() const {
  std::vector<const fabric::Domain*> domains;
  for (const auto& rail : rails_) domains.push_back(&rail->domain());
  return domains;
}

Result<MemoryHandle*> Device::register_memory(void* data, std::size_t size, int pointer_kind, int dmabuf_fd,
                                              std::uint64_t dmabuf_offset) {
  return memory_.acquire(data, size, pointer_kind, dmabuf_fd, dmabuf_offset);
}

Status Device::deregister_memory(MemoryHandle* memory) {
  const Status released = memory_.release(memory);
  // Whoever copies into the memory does so under the lock, and looks at the count first.
  const SpinGuard guard(lock_);
  ++deregistrations_;
  return released;
}

void Device::queue_failed(int error) noexcept {
  if (lost_) return;
  Error failure{Code::kSystem, error,
                "the completion queue of " + name() + " failed: " + rail().library().strerror(error) + " (" +
                    std::to_string(error) + "); every communicator on it is lost. Look for the NIC in the kernel log"};
  WEFT_WARN("%s", failure.what.c_str());
  failure.logged = true;
  lost_ = std::move(failure);
  registry_.for_each([this](Addressable& object) { object.on_peer_failed(*lost_); });
}

void Device::unowned_error(const fabric::CompletionError& error) noexcept {
  ++unowned_errors_;
  if (!std::has_single_bit(unowned_errors_)) return;
  WEFT_WARN("%s reported an error without saying whose: %s (%d), provider says: %s (%d); seen %llu times",
            name().c_str(), rail().library().strerror(error.error), error.error, error.text, error.provider_error,
            static_cast<unsigned long long>(unowned_errors_));
}

void Device::sweep() noexcept {
  std::erase_if(closing_, [](const auto& object) { return object->is_idle(); });
  // Attempts that the caller gave up: NCCL has no call for that, it just stops asking.
  const auto now = Clock::now();
  std::erase_if(connectors_, [now](const auto& connector) { return connector->is_abandoned(now); });
}

}  // namespace weft
