// Is there an EFA adapter in this machine, and what stands between it and a process? Read from sysfs, so that
// the answer does not depend on the libraries that may be the problem.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace weft::plugin {

struct EfaHardware {
  int functions = 0;     ///< PCI functions of EFA adapters
  int with_driver = 0;   ///< of these, those the kernel's efa driver has taken
  int device_nodes = 0;  ///< uverbs device nodes that this process can see
};

/// Looks under `root`, which stands for "/". nullopt: no EFA adapter (or a sysfs that hides it).
std::optional<EfaHardware> find_efa_hardware(const std::filesystem::path& root);

/// Why an adapter that is there cannot be used, and the remedy; `libfabric` names the library that did not
/// offer it.
std::string explain_unusable(const EfaHardware& hardware, const std::string& libfabric);

}  // namespace weft::plugin
