#include "plugin/plugin.h"

#include <dlfcn.h>

#include <cstddef>
#include <new>
#include <utility>

#include "plugin/log_sink.h"
#include "weft/log.h"

namespace weft::plugin {
namespace {

std::unexpected<Error> not_open() {
  return fail(Code::kArgument, "the listener or communicator is not open: closed already, or not Weft's");
}

/// Makes this library stay mapped after dlclose.
void stay_loaded() {
  Dl_info self{};
  if (dladdr(reinterpret_cast<const void*>(&stay_loaded), &self) == 0) return;
  if (void* library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE)) dlclose(library);
}

}  // namespace

Plugin& Plugin::get() {
  // Never destroyed: at the end of a process libfabric may be gone before us. What must be freed goes with the last
  // finalize; the empty maps hold no memory.
  alignas(Plugin) static std::byte storage[sizeof(Plugin)];
  static Plugin* const plugin = new (storage) Plugin;
  return *plugin;
}

std::shared_ptr<Instance> Plugin::live() const {
  if (!contexts_.empty()) return contexts_.begin()->second->instance;
  if (forever_) return forever_;
  return open_.empty() ? nullptr : open_.begin()->second;
}

Result<std::shared_ptr<Instance>> Plugin::open_or_share() {
  if (auto instance = live()) return instance;
  return Instance::open(process_environment(), fusions_);
}

Result<int> Plugin::fuse(std::span<const int> members) {
  const std::lock_guard guard(mutex_);
  const auto instance = live();
  if (!instance) return fail(Code::kUsage, "init has not been called, or has failed");
  const int before = instance->device_count();
  if (fusions_.is_full()) {
    return fail(Code::kUsage, "NCCL wants more than " + std::to_string(Fusions::kMost) + " devices made of others");
  }
  TRY(const int index, instance->fuse(members));
  if (instance->device_count() > before) fusions_.add(members);
  return index;
}

Result<int> Plugin::count_devices() {
  const std::lock_guard guard(mutex_);
  const auto instance = live();
  if (!instance) return fail(Code::kUsage, "init has not been called, or has failed");
  if (instance->forget_replayed()) fusions_.clear();
  return instance->device_count();
}

void Plugin::let_logger_go_if_unused() noexcept {
  if (contexts_.empty() && !forever_) set_nccl_logger(nullptr);
}

void Plugin::init_failed() noexcept {
  const std::lock_guard guard(mutex_);
  let_logger_go_if_unused();
}

Result<Context*> Plugin::init(std::uint64_t communicator, nccl::ncclDebugLogger_t logger) {
  const std::lock_guard guard(mutex_);
  set_nccl_logger(logger);
  TRY(auto instance, open_or_share());
  auto context = std::make_unique<Context>(communicator, std::move(instance));
  Context* const raw = context.get();
  contexts_.emplace(raw, std::move(context));
  return raw;
}

Status Plugin::init_forever(nccl::ncclDebugLogger_t logger) {
  const std::lock_guard guard(mutex_);
  set_nccl_logger(logger);
  if (forever_) return {};
  TRY(forever_, open_or_share());
  stay_loaded();
  return {};
}

Status Plugin::finalize(void* context) {
  const std::lock_guard guard(mutex_);
  const auto found = contexts_.find(context);
  if (found == contexts_.end()) return fail(Code::kArgument, "the context is not live: finalized twice, or not Weft's");
  if (contexts_.size() == 1 && !open_.empty()) {
    WEFT_INFO("%zu listeners and communicators are still open; the devices stay until they are closed", open_.size());
  }
  // Closes the devices if this was the last user, while the logger can still hear of it.
  contexts_.erase(found);
  let_logger_go_if_unused();
  return {};
}

Result<std::shared_ptr<Instance>> Plugin::instance_of(void* context) {
  const std::lock_guard guard(mutex_);
  if (context == nullptr) {
    if (forever_) return forever_;
    return fail(Code::kUsage, "init has not been called, or has failed");
  }
  const auto found = contexts_.find(context);
  if (found == contexts_.end())
    return fail(Code::kArgument, "the context is not live: finalized already, or not Weft's");
  return found->second->instance;
}

Result<std::shared_ptr<Instance>> Plugin::current() {
  const std::lock_guard guard(mutex_);
  if (auto instance = live()) return instance;
  return fail(Code::kUsage, "init has not been called, or has failed");
}

void Plugin::hold(void* handle, std::shared_ptr<Instance> instance) {
  const std::lock_guard guard(mutex_);
  open_.emplace(handle, std::move(instance));
}

Result<std::shared_ptr<Instance>> Plugin::instance_behind(void* handle) {
  const std::lock_guard guard(mutex_);
  const auto found = open_.find(handle);
  if (found == open_.end()) return not_open();
  return found->second;
}

Result<std::shared_ptr<Instance>> Plugin::release(void* handle) {
  const std::lock_guard guard(mutex_);
  const auto found = open_.find(handle);
  if (found == open_.end()) return not_open();
  auto instance = std::move(found->second);
  open_.erase(found);
  return instance;
}

}  // namespace weft::plugin
