#include "tests/topology/machines.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

namespace weft::topology {

int Builder::add(Kind kind, int above, const std::string& address) {
  Node node;
  node.kind = kind;
  node.parent = above;
  node.address = PciAddress::parse(address).value();
  tree_.nodes.push_back(node);
  return static_cast<int>(tree_.nodes.size()) - 1;
}

int Builder::numa(int number) {
  const int index = add(Kind::kNuma, 0, "00:00.0");
  tree_.nodes.back().numa = number;
  return index;
}

int Builder::host_bridge(int above, const std::string& bus) { return add(Kind::kHostBridge, above, bus + ":00.0"); }
int Builder::bridge(int above, const std::string& address) { return add(Kind::kBridge, above, address); }

int Builder::gpu(int above, const std::string& address) {
  const int index = add(Kind::kGpu, above, address);
  tree_.nodes.back().vendor = kNvidiaVendor;
  return index;
}

int Builder::efa(int above, const std::string& address, int gbps, std::uint64_t guid, std::uint16_t device) {
  const int index = nic(above, address, kAmazonVendor, device);
  Node& node = tree_.nodes.back();
  node.speed_mbps = gbps * 1000;
  node.node_guid = guid;
  return index;
}

int Builder::nic(int above, const std::string& address, std::uint16_t vendor, std::uint16_t device) {
  const int index = add(Kind::kNic, above, address);
  Node& node = tree_.nodes.back();
  node.vendor = vendor;
  node.device = device;
  node.name = "nic-" + node.address.text();
  return index;
}

Tree Builder::take() {
  tree_.put_in_order();
  return std::move(tree_);
}

namespace {

std::string place(int bus, int device) {
  char text[16];
  std::snprintf(text, sizeof text, "%02x:%02x.0", bus, device);
  return text;
}

}  // namespace

Tree machine(int switches, int gpus, int nics) {
  Builder build;
  const int nodes[] = {build.numa(0), build.numa(1)};
  for (int i = 0; i < switches; ++i) {
    const int bus = 0x10 * (i + 1);
    const int host = build.host_bridge(nodes[i * 2 / switches], place(bus, 0).substr(0, 2));
    const int port = build.bridge(host, place(bus, 1));
    for (int g = 0; g < gpus; ++g) build.gpu(port, place(bus + 1, 0x10 + g));
    for (int n = 0; n < nics; ++n) build.efa(port, place(bus + 1, n));
  }
  return build.take();
}

Tree random_machine(std::mt19937_64& random) {
  const auto upto = [&random](int most) { return static_cast<int>(random() % static_cast<unsigned>(most + 1)); };
  Builder build;
  std::vector<int> homes;
  for (int i = upto(2); i > 0; --i) homes.push_back(build.numa(i - 1));
  if (homes.empty()) homes.push_back(0);
  int bus = 1;
  std::uint64_t card = 1;
  std::vector<int> bridges;
  for (int i = 1 + upto(4); i > 0; --i, ++bus) {
    bridges.push_back(build.host_bridge(homes[random() % homes.size()], place(bus, 0).substr(0, 2)));
  }
  for (int i = upto(8); i > 0; --i, ++bus)
    bridges.push_back(build.bridge(bridges[random() % bridges.size()], place(bus, 0)));
  for (int i = upto(8); i > 0; --i, ++bus) build.gpu(bridges[random() % bridges.size()], place(bus, 0));
  const std::uint16_t kind = random() % 2 != 0 ? 0xefa1 : 0xefa3;
  for (int i = upto(20); i > 0; --i, ++card) {
    const int home = bridges[random() % bridges.size()];
    const auto first = random() % 2;  // the hypervisor hands out the addresses of a card's functions in either order
    for (std::uint64_t function = 0; function <= random() % 2; ++function, ++bus) {
      build.efa(home, place(bus, 0), 100, random() % 8 == 0 ? 0 : card << 8 | (function ^ first), kind);
    }
  }
  return build.take();
}

Tree shuffled(const Tree& tree, std::mt19937_64& random) {
  std::vector<int> order(tree.nodes.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin() + 1, order.end(), random);
  // Readers make a node before what is below it; only that is kept.
  std::ranges::stable_sort(order, {}, [&](int index) {
    int depth = 0;
    for (int above = index; above > 0; above = tree.nodes[static_cast<std::size_t>(above)].parent) ++depth;
    return depth;
  });
  std::vector<int> now(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) now[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
  Tree other;
  other.nodes.clear();
  for (const int old : order) {
    Node node = tree.nodes[static_cast<std::size_t>(old)];
    if (node.parent >= 0) node.parent = now[static_cast<std::size_t>(node.parent)];
    other.nodes.push_back(std::move(node));
  }
  other.put_in_order();
  return other;
}

std::vector<std::vector<std::string>> addresses(std::span<const Nic> nics, const RailGroups& groups) {
  std::vector<std::vector<std::string>> found;
  for (const RailGroup& group : groups.groups) {
    std::vector<std::string> rails;
    for (const std::size_t rail : group.rails)
      rails.push_back(nics[rail].address ? nics[rail].address->text() : nics[rail].name);
    found.push_back(std::move(rails));
  }
  return found;
}

}  // namespace weft::topology
