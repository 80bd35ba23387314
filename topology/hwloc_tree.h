// A machine's tree from hwloc: this machine's, or another's that lstopo has saved as XML. hwloc is opened at run time.
#pragma once

#include <filesystem>
#include <memory>

#include "topology/tree.h"
#include "weft/result.h"

namespace weft::topology {

/// The hwloc library, opened. Thread safe.
class Hwloc {
 public:
  /// Opens libhwloc.so.15 (hwloc 2.x). Fails when it is missing or of another series.
  static Result<Hwloc> open();
  Hwloc(Hwloc&&) noexcept;
  Hwloc& operator=(Hwloc&&) noexcept;
  ~Hwloc();

  /// This machine, completed with what only the kernel says (describe).
  Result<Tree> read_machine() const;
  /// The machine in `file`. NICs have no speed there: the instance table's is taken where it knows the machine.
  Result<Tree> read_xml(const std::filesystem::path& file) const;

 private:
  struct Functions;
  explicit Hwloc(std::unique_ptr<Functions> functions) noexcept;
  Result<Tree> read(const char* xml) const;

  std::unique_ptr<Functions> functions_;
};

}  // namespace weft::topology
