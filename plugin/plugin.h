// The plugin's state in this process: who has started it, and what is open.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>

#include "plugin/instance.h"
#include "weft/nccl/net_common.h"
#include "weft/result.h"

namespace weft::plugin {

/// What NCCL holds for one of its communicators from init to finalize (v11 and later).
struct Context {
  std::uint64_t communicator;  ///< NCCL's number for it, in messages only
  std::shared_ptr<Instance> instance;
};

/// Thread safe; never on the data path. The instance is opened by the first init and lives until its last user is
/// gone: the contexts, and the listeners and communicators that NCCL has not closed yet. The next init opens a new one.
///
/// NCCL may unload the library after its last finalize. ABIs before v11 have no finalize: what they started stays, and
/// keeps the library in the process, so that NCCL finds it again when it loads the plugin once more.
class Plugin {
 public:
  static Plugin& get();
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  /// Opens an instance if there is none and makes a context. `logger` (may be null) receives the log from now on.
  Result<Context*> init(std::uint64_t communicator, nccl::ncclDebugLogger_t logger);
  /// Ends a context. kArgument for one that is not live. With the last one the logger is let go.
  Status finalize(void* context);

  /// For ABIs without contexts: the first call starts the plugin for good.
  Status init_forever(nccl::ncclDebugLogger_t logger);

  /// To be called when an init has failed and that has been logged: the logger is let go unless another start uses it.
  void init_failed() noexcept;

  /// The instance of a context; a null one stands for the context of ABIs that have none.
  Result<std::shared_ptr<Instance>> instance_of(void* context);
  /// The live instance; kUsage before init.
  Result<std::shared_ptr<Instance>> current();

  /// Makes one device of those with the indices `members`, and returns its index. An instance that is opened later has
  /// it too, unless NCCL counts the devices before it looks at any: it may keep the plugin through a time without
  /// communicators (NCCL_NET_PLUGIN_REF_COUNT=1) and then goes on with the devices it knows; when it begins again, it
  /// counts first (plugin/net.cc, ncclNetPluginInit).
  Result<int> fuse(std::span<const int> members);
  /// How many devices there are.
  Result<int> count_devices();

  /// Keeps `instance` until release(handle). `handle` is a listener or communicator that NCCL gets.
  void hold(void* handle, std::shared_ptr<Instance> instance);
  /// The instance of a handle that is held; kArgument for one that is not open.
  Result<std::shared_ptr<Instance>> instance_behind(void* handle);
  /// Ends the hold and returns the instance, which the caller keeps until the object is closed. kArgument for a handle
  /// that is not open: closed twice, or never ours.
  Result<std::shared_ptr<Instance>> release(void* handle);

 private:
  Plugin() = default;

  std::shared_ptr<Instance> live() const;  ///< null while nobody uses one; wants mutex_
  Result<std::shared_ptr<Instance>> open_or_share();
  void let_logger_go_if_unused() noexcept;  ///< wants mutex_

  std::mutex mutex_;
  Fusions fusions_;
  std::map<void*, std::unique_ptr<Context>> contexts_;
  std::shared_ptr<Instance> forever_;
  std::map<void*, std::shared_ptr<Instance>> open_;
};

}  // namespace weft::plugin
