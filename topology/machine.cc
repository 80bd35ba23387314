#include "topology/machine.h"

#include <algorithm>

#include "topology/hwloc_tree.h"
#include "topology/sysfs_tree.h"
#include "weft/result.h"

namespace weft::topology {
namespace {

bool shows_devices(const Tree& tree) {
  return std::ranges::any_of(tree.nodes,
                             [](const Node& node) { return node.kind == Kind::kGpu || node.kind == Kind::kNic; });
}

}  // namespace

Tree read_machine(const std::filesystem::path& root) {
  if (root != "/") return read_sysfs(root);
  const auto hwloc = Hwloc::open();
  Result<Tree> tree = hwloc ? hwloc->read_machine() : std::unexpected(hwloc.error());
  if (tree && shows_devices(*tree)) return std::move(*tree);
  Tree plain = read_sysfs(root);
  if (!tree) plain.oddities.push_back(tree.error().what + "; the topology comes from /sys instead");
  return plain;
}

}  // namespace weft::topology
