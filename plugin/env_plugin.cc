#include "plugin/env_plugin.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "plugin/nccl_defaults.h"
#include "topology/machine.h"
#include "weft/log.h"
#include "weft/params.h"
#include "weft/result.h"

namespace weft::plugin {
namespace {

constexpr const char* kTopologyFile = "NCCL_TOPO_FILE";
/// Read by NCCL where NCCL_TOPO_FILE is not set; whoever made the machine put it there.
constexpr const char* kMachinesOwnFile = "/var/run/nvidia-topologyd/virtualTopology.xml";

/// A file without a name, open as long as this lives.
class MemoryFile {
 public:
  static Result<MemoryFile> holding(std::string_view text) {
    MemoryFile file(memfd_create("weft-nccl-topology", MFD_CLOEXEC));
    if (file.fd_ < 0) return fail(Code::kSystem, errno, std::string("memfd_create: ") + std::strerror(errno));
    while (!text.empty()) {
      const ssize_t written = write(file.fd_, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return fail(Code::kSystem, errno, std::string("write: ") + std::strerror(errno));
      text.remove_prefix(static_cast<std::size_t>(written));
    }
    return file;
  }
  MemoryFile() = default;
  MemoryFile(MemoryFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  MemoryFile& operator=(MemoryFile&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~MemoryFile() {
    if (fd_ >= 0) close(fd_);
  }

  /// Good in this process only.
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  explicit MemoryFile(int fd) : fd_(fd) {}
  int fd_ = -1;
};

// Static: NCCL's ABI has no context. Written by the first init of this life of the library only, as a process may have
// two NCCLs and the first goes on reading; freed with the library.
struct State {
  NcclDefaults defaults;
  MemoryFile topology;
  std::string problem;  ///< why there is nothing, if so
};
std::once_flag prepared;
State state;  // NOLINT(cert-err58-cpp): both members are made empty, which does not throw

Status prepare() {
  TRY(const LoadedParams loaded, load_params(process_environment()));  // the net plugin says what is wrong with them
  TRY(state.defaults, nccl_defaults(topology::read_machine(), loaded.params));
  std::error_code error;
  if (state.defaults.topology_xml.empty() || std::filesystem::exists(kMachinesOwnFile, error)) return {};
  TRY(state.topology, MemoryFile::holding(state.defaults.topology_xml));
  state.defaults.values[kTopologyFile] = {state.topology.path(),
                                          "the devices' speeds: NCCL knows the link of the first NIC of each only"};
  return {};
}

/// Says what NCCL will be told, to `logger` or, without one, to nobody: NCCL names each variable where it reads it.
void announce(nccl::ncclDebugLogger_t logger) {
  if (!state.problem.empty()) {
    if (logger == nullptr) {
      WEFT_WARN("no defaults for NCCL: %s", state.problem.c_str());
    } else {
      logger(nccl::NCCL_LOG_WARN, nccl::NCCL_INIT, __FILE__, __LINE__, "ENV/Weft: no defaults for NCCL: %s",
             state.problem.c_str());
    }
  }
  if (logger == nullptr) return;
  for (const auto& [variable, value] : state.defaults.values) {
    if (env_get(variable.c_str()) != value.text.c_str()) continue;  // the user has set another
    logger(nccl::NCCL_LOG_INFO, nccl::NCCL_INIT, __FILE__, __LINE__, "ENV/Weft: %s=%s (%s)", variable.c_str(),
           value.text.c_str(), value.reason.c_str());
  }
}

void start(nccl::ncclDebugLogger_t logger) noexcept {
  std::call_once(prepared, []() noexcept {
    try {
      if (const Status status = prepare(); !status) state.problem = status.error().what;
    } catch (const std::exception& exception) {
      state.problem = exception.what();
    }
  });
  announce(logger);
}

}  // namespace

nccl::ncclResult_t env_init(std::uint8_t, std::uint8_t, std::uint8_t, const char*) noexcept {
  start(nullptr);
  return nccl::ncclSuccess;
}

nccl::ncclResult_t env_init_logged(std::uint8_t, std::uint8_t, std::uint8_t, const char*,
                                   nccl::ncclDebugLogger_t logger) noexcept {
  start(logger);
  return nccl::ncclSuccess;
}

nccl::ncclResult_t env_finalize() noexcept {
  // At the end of the process NCCL's threads may still be asking: the values go with the library, or with the next
  // init.
  return nccl::ncclSuccess;
}

const char* env_get(const char* name) noexcept {
  if (name == nullptr) return nullptr;
  // The one place beside the parameters that reads the environment: NCCL asks here instead of there.
  if (const char* set = std::getenv(name)) return set;
  const auto found = state.defaults.values.find(std::string_view(name));
  return found == state.defaults.values.end() ? nullptr : found->second.text.c_str();
}

}  // namespace weft::plugin
