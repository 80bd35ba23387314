// libfabric, opened at run time: the few functions that are linked by name. Everything else in libfabric is an inline
// call through an object's own table, so the plugin needs no link-time dependency on it.
#pragma once

#include <rdma/fabric.h>

#include <cstdint>
#include <string>
#include <vector>

#include "weft/result.h"

namespace weft::fabric {

class Info;

/// The functions that libfabric exports by name. Tests fill it with their own.
struct Functions {
  decltype(&::fi_version) version = nullptr;
  decltype(&::fi_getinfo) getinfo = nullptr;
  decltype(&::fi_freeinfo) freeinfo = nullptr;
  decltype(&::fi_dupinfo) dupinfo = nullptr;
  decltype(&::fi_fabric) fabric = nullptr;
  decltype(&::fi_strerror) strerror = nullptr;
};

/// What a transport asks of a provider. The mode and memory-registration bits are the same for all of Weft: what
/// Domain, Endpoint and MemoryRegion can serve.
struct Hints {
  std::uint64_t caps = 0;  ///< FI_MSG | FI_TAGGED, FI_MSG | FI_RMA, ...
  std::string provider;    ///< provider name; empty: all of them
};

/// Owns nothing that must be closed: the library stays in the process once opened, because unloading a libfabric whose
/// providers may have started threads is not safe. Must outlive every object made through it.
class Library {
 public:
  /// Oldest libfabric that Weft accepts.
  static constexpr std::uint32_t kMinVersion = FI_VERSION(1, 17);
  /// Newest API whose structures this code knows; newer libraries are asked to behave like it.
  static constexpr std::uint32_t kMaxApiVersion = FI_VERSION(1, 20);

  /// Opens `path` if it is not empty and nothing else; otherwise the loader's own libfabric.so.1 and then those of the
  /// EFA installer. The error names every place that was tried and why it was not taken.
  static Result<Library> open(const std::string& path);

  /// A library made of the given functions, for tests.
  Library(const Functions& functions, std::string path) : functions_(functions), path_(std::move(path)) {}

  std::uint32_t version() const { return functions_.version(); }
  /// The API version to ask for: what both sides know.
  std::uint32_t api_version() const;
  const std::string& path() const { return path_; }
  const Functions& functions() const { return functions_; }
  const char* strerror(int error) const { return functions_.strerror(error < 0 ? -error : error); }

  /// Every way the library offers to satisfy `hints` over reliable datagram endpoints, in its own order of preference.
  /// An empty list is not an error.
  Result<std::vector<Info>> discover(const Hints& hints) const;

 private:
  Functions functions_;
  std::string path_;
};

/// "1.17" from FI_VERSION(1, 17).
std::string version_string(std::uint32_t version);

}  // namespace weft::fabric
