#include "bench/net_plugin.h"

#include <dlfcn.h>

#include <filesystem>

#include "bench/net_adapter.h"
#include "bench/text.h"

namespace weft::bench {
namespace {

std::string symbol_of(int abi) { return "ncclNetPlugin_v" + std::to_string(abi); }

/// What the loader is asked for: a file that is there, or a name it may know, where NCCL's short form "weft" stands
/// for libnccl-net-weft.so.
std::string resolve(const std::string& path) {
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    const auto absolute = std::filesystem::absolute(path, error);
    return error ? path : absolute.string();
  }
  const bool is_name = path.find('/') == std::string::npos && !path.ends_with(".so");
  return is_name ? "libnccl-net-" + path + ".so" : path;
}

template <int kAbi, class Net, class Properties>
Result<std::unique_ptr<NetPlugin>> adapt(LibraryHandle library, const void* table, const std::string& path) {
  const auto* net = static_cast<const Net*>(table);
  if (const char* missing = NetAdapter<kAbi, Net, Properties>::missing_function(*net); missing != nullptr) {
    return fail(Code::kArgument, text("%s: its %s has no %s function", path.c_str(), symbol_of(kAbi).c_str(), missing));
  }
  return std::make_unique<NetAdapter<kAbi, Net, Properties>>(std::move(library), net, path);
}

Result<std::unique_ptr<NetPlugin>> adapt(int abi, LibraryHandle library, const void* table, const std::string& path) {
  using namespace nccl;
  switch (abi) {
    case 12: return adapt<12, ncclNet_v12_t, ncclNetProperties_v12_t>(std::move(library), table, path);
    case 11: return adapt<11, ncclNet_v11_t, ncclNetProperties_v11_t>(std::move(library), table, path);
    case 10: return adapt<10, ncclNet_v10_t, ncclNetProperties_v10_t>(std::move(library), table, path);
    case 9: return adapt<9, ncclNet_v9_t, ncclNetProperties_v9_t>(std::move(library), table, path);
    default: return adapt<8, ncclNet_v8_t, ncclNetProperties_v8_t>(std::move(library), table, path);
  }
}

}  // namespace

Result<std::unique_ptr<NetPlugin>> NetPlugin::load(const std::string& path, int abi) {
  const std::string file = resolve(path);
  LibraryHandle library(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (library == nullptr) {
    const char* why = dlerror();
    return fail(Code::kMissing,
                text("cannot load plugin %s: %s", path.c_str(), why != nullptr ? why : "unknown reason"));
  }
  const int newest = abi != 0 ? abi : kNewestAbi;
  const int oldest = abi != 0 ? abi : kOldestAbi;
  for (int version = newest; version >= oldest; --version) {
    if (const void* table = dlsym(library.get(), symbol_of(version).c_str()); table != nullptr) {
      return adapt(version, std::move(library), table, file);
    }
  }
  if (abi != 0) {
    return fail(Code::kArgument, text("plugin %s does not export %s", path.c_str(), symbol_of(abi).c_str()));
  }
  return fail(Code::kArgument, text("%s is not a NCCL net plugin that can be used here: it exports none of %s to %s",
                                    path.c_str(), symbol_of(kNewestAbi).c_str(), symbol_of(kOldestAbi).c_str()));
}

const char* result_text(nccl::ncclResult_t result) {
  switch (result) {
    case nccl::ncclSuccess: return "success (ncclSuccess)";
    case nccl::ncclUnhandledCudaError: return "CUDA error (ncclUnhandledCudaError)";
    case nccl::ncclSystemError: return "system error (ncclSystemError)";
    case nccl::ncclInternalError: return "internal error (ncclInternalError)";
    case nccl::ncclInvalidArgument: return "invalid argument (ncclInvalidArgument)";
    case nccl::ncclInvalidUsage: return "invalid usage (ncclInvalidUsage)";
    case nccl::ncclRemoteError: return "remote error (ncclRemoteError)";
    case nccl::ncclInProgress: return "still in progress (ncclInProgress)";
    case nccl::ncclTimeout: return "timed out (ncclTimeout)";
    default: return "a result that NCCL does not define";
  }
}

}  // namespace weft::bench
