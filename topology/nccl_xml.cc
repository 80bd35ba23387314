#include "topology/nccl_xml.h"

#include <cctype>
#include <cmath>
#include <map>

#if defined(__x86_64__)
#include <cpuid.h>

#include <cstring>
#endif

namespace weft::topology {
namespace {

/// Speeds that every NCCL knows, the slowest first.
struct Speed {
  const char* text;
  double transfers;  ///< GT/s of a lane
};
constexpr Speed kSpeeds[] = {
    {"2.5 GT/s PCIe", 2.5}, {"5.0 GT/s PCIe", 5}, {"8.0 GT/s PCIe", 8}, {"16.0 GT/s PCIe", 16}, {"32.0 GT/s PCIe", 32}};
constexpr int kMostLanes = 16;  ///< of a link that exists

/// What NCCL takes a link to carry, as a part of its raw rate.
constexpr double kUsable = 0.75;

struct Link {
  const char* speed;
  int width;
};

/// The link that has this raw rate, if there is one. Readers of the rate may have rounded.
std::optional<Link> existing_link(double gbps) {
  for (const auto& [text, transfers] : kSpeeds) {
    for (int lanes = 1; lanes <= kMostLanes; lanes *= 2) {
      if (std::abs(gbps - lanes * transfers) < 0.02 * gbps) return Link{text, lanes};
    }
  }
  return {};
}

/// A link that carries at least this raw rate, on more lanes than there are if need be.
Link wide_link(double gbps) {
  constexpr std::size_t kFirst = 2;  // NCCL counts slower lanes for less
  std::size_t speed = kFirst;
  while (speed + 1 < std::size(kSpeeds) && gbps > kMostLanes * kSpeeds[speed].transfers) ++speed;
  return {kSpeeds[speed].text, static_cast<int>(std::ceil(gbps / kSpeeds[speed].transfers - 1e-9))};
}

std::string hex(std::uint32_t value, int digits) {
  char buffer[16];
  std::snprintf(buffer, sizeof buffer, "0x%0*x", digits, value);
  return buffer;
}

class Writer {
 public:
  Writer(const View& view, std::optional<Processor> processor) : view_(view), processor_(std::move(processor)) {
    for (const RailGroup& group : view.groups.groups) {
      Rails rails;
      for (const std::size_t nic : group.rails) rails.push_back({place_of(view.nics[nic]), view.nics[nic].speed_mbps});
      if (rails.front().node < 0) continue;  // without a place NCCL gets no path either
      add(rails.front().node);
      devices_.push_back(std::move(rails));
    }
    for (const int gpu : view.tree.all(Kind::kGpu)) add(gpu);
  }

  /// True if NCCL would see less by itself.
  bool says_more() const {
    const auto bridges = view_.tree.all(Kind::kHostBridge);
    return std::ranges::any_of(devices_, [](const Rails& rails) { return rails.size() > 1; }) ||
           (!devices_.empty() && std::ranges::any_of(bridges, [this](int bridge) { return is_hidden_switch(bridge); }));
  }

  std::string text() {
    std::string name = view_.tree.instance_type.substr(0, 64);
    std::erase_if(name,
                  [](unsigned char letter) { return std::isalnum(letter) == 0 && letter != '.' && letter != '-'; });
    std::string xml = "<system version=\"1\"" + (name.empty() ? "" : " name=\"" + name + "\"") + ">\n";
    for (const auto& [numa, tops] : processors_) {
      xml += "  <cpu numaid=\"" + std::to_string(numa) + "\"" + processor_attributes() + ">\n";
      for (const auto& [address, node] : tops) write(node, 4, xml);
      xml += "  </cpu>\n";
    }
    return xml + "</system>\n";
  }

 private:
  struct Rail {
    int node;
    int speed_mbps;
  };
  using Rails = std::vector<Rail>;
  using Siblings = std::map<PciAddress, int>;

  const Node& at(int node) const { return view_.at(node); }
  bool is_bridge(int node) const { return at(node).kind == Kind::kBridge; }
  int place_of(const Nic& nic) const { return nic.address ? view_.tree.find(*nic.address) : -1; }

  /// What hangs on the bridge itself.
  struct Guests {
    bool gpu = false, efa = false, nic = false;
  };
  Guests guests(int bridge) const {
    Guests found;
    for (const int child : view_.tree.children(bridge)) {
      found.gpu = found.gpu || at(child).kind == Kind::kGpu;
      found.nic = found.nic || at(child).kind == Kind::kNic;
      found.efa = found.efa || at(child).is_efa();
    }
    return found;
  }
  bool is_shared(int bridge) const {
    const auto [gpu, efa, nic] = guests(bridge);
    return gpu && nic;
  }

  /// True if the machine shows a switch as a host bridge: GPUs and NICs hang on it without a port between, and it is
  /// not the only one of its kind, as no processor has it (P4d; a container may show the GPUs of one switch only). On
  /// one alone there may be anything.
  bool is_hidden_switch(int bridge) const {
    if (at(bridge).kind != Kind::kHostBridge || !is_shared(bridge)) return false;
    const auto bridges = view_.tree.all(Kind::kHostBridge);
    return std::ranges::count_if(bridges, [this](int each) {
             const auto [gpu, efa, nic] = guests(each);
             return gpu || efa;
           }) > 1;
  }

  /// The switch that `node` hangs on, as NCCL counts; -1: the processor.
  int switch_above(int node) const {
    const int port = at(node).parent;
    if (!is_bridge(port)) return !is_bridge(node) && is_hidden_switch(port) ? port : -1;
    if (is_bridge(at(port).parent)) return at(port).parent;
    // NCCL would leave out this one too, and find the GPU and NIC on it no nearer than the processor.
    return !is_bridge(node) && is_shared(port) ? port : -1;
  }

  void add(int node) {
    const int above = switch_above(node);
    Siblings& siblings = above >= 0 ? below_[above] : processors_[view_.tree.numa_of(node)];
    if (siblings.emplace(at(node).address, node).second && above >= 0) add(above);
  }

  /// Raw rate with which NCCL believes in the speed of a NIC's port.
  static double port_need(const Rail& rail) { return rail.speed_mbps / 1000.0 / kUsable; }

  /// Raw rate that a rail needs; one that is unknown is like the lead.
  double need(const Rail& rail, const Rail& lead) const {
    const double link = rail.node >= 0 ? at(rail.node).link_gbps : 0;
    const double rate = std::max(link, port_need(rail));
    return rate > 0 || rail.node == lead.node ? rate : need(lead, lead);
  }

  /// What `node`'s link must carry because NCCL sees all of a device at its lead: the rails that are elsewhere.
  double borrowed(int node) const {
    double gbps = 0;
    for (const Rails& rails : devices_) {
      if (!view_.tree.is_below(rails.front().node, node)) continue;
      for (const Rail& rail : rails) {
        if (rail.node < 0 || !view_.tree.is_below(rail.node, node)) gbps += need(rail, rails.front());
      }
    }
    return gbps;
  }

  /// Empty where nothing is known: NCCL will look itself.
  std::string link_attributes(int node) const {
    // What NCCL takes for a link whose rate it cannot read.
    constexpr double kUnknown = 8.0 * kMostLanes;
    double own = at(node).link_gbps;
    if (at(node).kind == Kind::kHostBridge) {
      own = kUnknown;  // and as fast as what hangs on it
      for (const int child : view_.tree.children(node)) own = std::max(own, at(child).link_gbps);
    }
    for (const Rails& rails : devices_) {
      // Virtual machines (P6e-GB200) give bridges rates that not even one port below could live with.
      const bool is_above = own > 0 && view_.tree.is_below(rails.front().node, node);
      if (is_above || rails.front().node == node) own = std::max(own, port_need(rails.front()));
    }
    const double more = borrowed(node);
    if (own <= 0 && more <= 0) return "";
    const auto existing = more > 0 ? std::nullopt : existing_link(own);
    const Link link = existing ? *existing : wide_link((own > 0 ? own : kUnknown) + more);
    return std::string(" link_speed=\"") + link.speed + "\" link_width=\"" + std::to_string(link.width) + "\"";
  }

  std::string processor_attributes() const {
    if (!processor_) return "";
    std::string text = " arch=\"" + processor_->arch + "\"";
    if (processor_->vendor.empty()) return text;
    return text + " vendor=\"" + processor_->vendor + "\" familyid=\"" + std::to_string(processor_->family) +
           "\" modelid=\"" + std::to_string(processor_->model) + "\"";
  }

  /// A host bridge is no PCI function; one that stands for a switch gets an address that no device has.
  std::string bus_id(int index) const {
    const Node& node = at(index);
    if (node.kind != Kind::kHostBridge) return node.address.text();
    const auto bridges = view_.tree.all(Kind::kHostBridge);
    const auto number = static_cast<unsigned>(std::ranges::find(bridges, index) - bridges.begin());
    return PciAddress{0xffff, static_cast<std::uint8_t>(0xff - number / 32), static_cast<std::uint8_t>(number % 32), 0}
        .text();
  }

  void write(int index, std::size_t indent, std::string& xml) const {
    const Node& node = at(index);
    const std::uint32_t usual = node.kind == Kind::kGpu ? 0x030200 : node.kind == Kind::kNic ? 0x020000 : 0x060400;
    xml += std::string(indent, ' ') + "<pci busid=\"" + bus_id(index) + "\" class=\"" +
           hex(node.pci_class != 0 ? node.pci_class : usual, 6) + "\"";
    if (node.vendor != 0) xml += " vendor=\"" + hex(node.vendor, 4) + "\" device=\"" + hex(node.device, 4) + "\"";
    xml += link_attributes(index);
    const auto below = below_.find(index);
    if (below == below_.end()) {
      xml += "/>\n";
      return;
    }
    xml += ">\n";
    for (const auto& [address, child] : below->second) write(child, indent + 2, xml);
    xml += std::string(indent, ' ') + "</pci>\n";
  }

  const View& view_;
  std::optional<Processor> processor_;
  std::vector<Rails> devices_;
  std::map<int, Siblings> processors_;  ///< by NUMA node: what hangs on them
  std::map<int, Siblings> below_;       ///< by switch
};

}  // namespace

std::optional<Processor> own_processor() {
#if defined(__x86_64__)
  Processor processor{.arch = "x86_64", .vendor = {}, .family = 0, .model = 0};
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(0, &eax, &ebx, &ecx, &edx) == 0) return {};
  char vendor[12];
  std::memcpy(vendor, &ebx, 4);
  std::memcpy(vendor + 4, &edx, 4);
  std::memcpy(vendor + 8, &ecx, 4);
  processor.vendor = printable({vendor, sizeof vendor});
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) return {};
  processor.family = static_cast<int>((eax >> 8 & 0xf) + ((eax >> 20 & 0xff) << 4));
  processor.model = static_cast<int>((eax >> 4 & 0xf) + ((eax >> 16 & 0xf) << 4));
  return processor;
#elif defined(__aarch64__)
  return Processor{.arch = "arm64", .vendor = {}, .family = 0, .model = 0};
#else
  return {};
#endif
}

bool nccl_needs_xml(const View& view) { return Writer(view, std::nullopt).says_more(); }

std::string nccl_xml(const View& view, const std::optional<Processor>& processor) {
  return Writer(view, processor).text();
}

}  // namespace weft::topology
