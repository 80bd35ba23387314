#include "topology/tree.h"

#include <algorithm>
#include <numeric>
#include <ranges>
#include <tuple>

namespace weft::topology {
namespace {

/// The last byte of an EFA's node GUID counts the functions of its card, and three bytes above it name the card. The
/// card's bytes are trusted from 0xefa3 on only (aws-ofi-nccl, src/platform-aws.cpp, does so too); without a GUID, the
/// function number of the PCI address counts.
constexpr std::uint16_t kFirstDeviceWithCard = 0xefa3;

}  // namespace

unsigned Node::card_function() const noexcept {
  return node_guid != 0 ? static_cast<unsigned>(node_guid & 0xff) : address.function;
}

std::uint64_t Node::card() const noexcept {
  if (node_guid != 0 && device >= kFirstDeviceWithCard) return node_guid >> 8 & 0xff'ffff;
  // Bit 63 keeps these apart from the cards above.
  return std::uint64_t{1} << 63 | std::uint64_t{address.domain} << 16 | std::uint64_t{address.bus} << 8 |
         address.device;
}

int Tree::numa_node(int number) {
  const auto known = std::ranges::find_if(
      nodes, [number](const Node& node) { return node.kind == Kind::kNuma && node.numa == number; });
  if (known != nodes.end()) return static_cast<int>(known - nodes.begin());
  Node node;
  node.kind = Kind::kNuma;
  node.parent = 0;
  node.numa = number;
  nodes.push_back(std::move(node));
  return static_cast<int>(nodes.size()) - 1;
}

void Tree::put_in_order() {
  // Depth first from the root, siblings by what they are and where they stand.
  std::vector<std::vector<int>> below(nodes.size());
  for (std::size_t i = 1; i < nodes.size(); ++i)
    below[static_cast<std::size_t>(nodes[i].parent)].push_back(static_cast<int>(i));
  const auto place = [this](int index) {
    const Node& node = nodes[static_cast<std::size_t>(index)];
    return std::tuple(node.kind != Kind::kNuma, node.numa, node.address, node.name);
  };
  for (auto& siblings : below) std::ranges::sort(siblings, {}, place);
  std::vector<Node> ordered;
  ordered.reserve(nodes.size());
  std::vector<std::pair<int, int>> waiting{{0, -1}};  // old index, new index of the parent
  while (!waiting.empty()) {
    const auto [old, parent] = waiting.back();
    waiting.pop_back();
    const int index = static_cast<int>(ordered.size());
    ordered.push_back(std::move(nodes[static_cast<std::size_t>(old)]));
    ordered.back().parent = parent;
    for (const int child : below[static_cast<std::size_t>(old)] | std::views::reverse)
      waiting.emplace_back(child, index);
  }
  nodes = std::move(ordered);
  std::vector<int> gpus = all(Kind::kGpu);
  std::ranges::stable_sort(gpus, {}, [this](int gpu) { return nodes[static_cast<std::size_t>(gpu)].address; });
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    nodes[static_cast<std::size_t>(gpus[i])].name = "GPU " + std::to_string(i);
  }
}

int Tree::find(const PciAddress& address) const noexcept {
  const auto found = std::ranges::find_if(nodes, [&](const Node& node) {
    return (node.kind == Kind::kGpu || node.kind == Kind::kNic || node.kind == Kind::kBridge) &&
           node.address == address;
  });
  return found == nodes.end() ? -1 : static_cast<int>(found - nodes.begin());
}

std::vector<int> Tree::children(int node) const {
  std::vector<int> found;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].parent == node) found.push_back(static_cast<int>(i));
  }
  return found;
}

std::vector<int> Tree::all(Kind kind) const {
  std::vector<int> found;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].kind == kind) found.push_back(static_cast<int>(i));
  }
  return found;
}

bool Tree::is_below(int node, int above) const noexcept {
  while (node > above) node = nodes[static_cast<std::size_t>(node)].parent;  // parents have smaller indices
  return node == above;
}

int Tree::common_ancestor(int a, int b) const noexcept {
  while (a != b) (a > b ? a : b) = nodes[static_cast<std::size_t>(std::max(a, b))].parent;
  return a;
}

int Tree::numa_of(int node) const noexcept {
  for (; node > 0; node = nodes[static_cast<std::size_t>(node)].parent) {
    if (nodes[static_cast<std::size_t>(node)].kind == Kind::kNuma) return nodes[static_cast<std::size_t>(node)].numa;
  }
  return -1;
}

}  // namespace weft::topology
