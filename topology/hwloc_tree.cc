#include "topology/hwloc_tree.h"

#include <dlfcn.h>
#include <hwloc.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "topology/instances.h"
#include "topology/sysfs_tree.h"

namespace weft::topology {

/// What is looked up by name. Functions that hwloc's header defines inline would link against it and are not used.
struct Hwloc::Functions {
  void* library = nullptr;
  decltype(&hwloc_get_api_version) api_version = nullptr;
  decltype(&hwloc_topology_init) init = nullptr;
  decltype(&hwloc_topology_destroy) destroy = nullptr;
  decltype(&hwloc_topology_set_components) set_components = nullptr;
  decltype(&hwloc_topology_set_io_types_filter) set_io_types_filter = nullptr;
  decltype(&hwloc_topology_set_type_filter) set_type_filter = nullptr;
  decltype(&hwloc_topology_set_flags) set_flags = nullptr;
  decltype(&hwloc_topology_set_xml) set_xml = nullptr;
  decltype(&hwloc_topology_load) load = nullptr;
  decltype(&hwloc_get_obj_by_depth) object_at = nullptr;
  decltype(&hwloc_bitmap_weight) weight = nullptr;
  decltype(&hwloc_bitmap_first) first = nullptr;

  Functions() = default;
  Functions(const Functions&) = delete;
  Functions& operator=(const Functions&) = delete;
  ~Functions() {
    if (library != nullptr) dlclose(library);
  }

  /// The name of the first function that the library lacks; null if it has all.
  const char* look_up() {
    const char* missing = nullptr;
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      if (function == nullptr && missing == nullptr) missing = name;
    };
    find(api_version, "hwloc_get_api_version");
    find(init, "hwloc_topology_init");
    find(destroy, "hwloc_topology_destroy");
    find(set_components, "hwloc_topology_set_components");
    find(set_io_types_filter, "hwloc_topology_set_io_types_filter");
    find(set_type_filter, "hwloc_topology_set_type_filter");
    find(set_flags, "hwloc_topology_set_flags");
    find(set_xml, "hwloc_topology_set_xml");
    find(load, "hwloc_topology_load");
    find(object_at, "hwloc_get_obj_by_depth");
    find(weight, "hwloc_bitmap_weight");
    find(first, "hwloc_bitmap_first");
    return missing;
  }
};

namespace {

constexpr const char* kLibrary = "libhwloc.so.15";
constexpr unsigned kSeries = 2;  // the layout of hwloc_obj is the same in all of 2.x
static_assert(HWLOC_API_VERSION >> 16 == kSeries, "Weft reads the objects of hwloc 2.x");

const char* info(const hwloc_obj& object, std::string_view name) {
  for (unsigned i = 0; i < object.infos_count; ++i) {
    if (object.infos[i].name == name) return object.infos[i].value;
  }
  return nullptr;
}

PciAddress address_of(const hwloc_obj_attr_u::hwloc_pcidev_attr_s& pci) {
  return {.domain = pci.domain, .bus = pci.bus, .device = pci.dev, .function = pci.func};
}

/// hwloc gives GB/s of data; the bus itself counts the bits of its code, 130 for 128, too.
double link_gbps(const hwloc_obj_attr_u::hwloc_pcidev_attr_s& pci) {
  constexpr double kMost = 1e5;  // what a file says may be anything
  const double gbps = std::round(pci.linkspeed * 8.0 * 130 / 128);
  return gbps > 0 && gbps < kMost ? gbps : 0;
}

/// Walks hwloc's objects once and keeps GPUs, NICs and what is above them.
class Converter {
 public:
  Converter(decltype(&hwloc_bitmap_weight) weight, decltype(&hwloc_bitmap_first) first)
      : weight_(weight), first_(first) {}

  Tree convert(const hwloc_obj& machine) {
    if (const char* name = info(machine, "DMIProductName")) tree_.instance_type = name;
    visit(machine);
    tree_.put_in_order();
    return std::move(tree_);
  }

 private:
  void visit(const hwloc_obj& object) {
    for (const hwloc_obj* child = object.io_first_child; child != nullptr; child = child->next_sibling) {
      visit_io(*child, object, -1);
    }
    for (const hwloc_obj* child = object.first_child; child != nullptr; child = child->next_sibling) visit(*child);
  }

  /// `near`: the object of the processors that the device is close to. `above`: the bridge it hangs on, -1 for none.
  void visit_io(const hwloc_obj& object, const hwloc_obj& near, int above) {
    if (object.type == HWLOC_OBJ_BRIDGE) {
      if (has_device_below(object)) above = add_bridge(object, above >= 0 ? above : numa_node(near));
    } else if (object.type == HWLOC_OBJ_PCI_DEVICE) {
      add_device(object, above >= 0 ? above : numa_node(near));
    }
    for (const hwloc_obj* child = object.io_first_child; child != nullptr; child = child->next_sibling) {
      visit_io(*child, near, above);
    }
  }

  static std::optional<Kind> kind_of(const hwloc_obj& object) {
    if (object.type != HWLOC_OBJ_PCI_DEVICE) return {};
    const auto& pci = object.attr->pcidev;
    return kind_of_device(pci.vendor_id, pci.device_id, std::uint32_t{pci.class_id} << 8);
  }

  static bool has_device_below(const hwloc_obj& object) {
    for (const hwloc_obj* child = object.io_first_child; child != nullptr; child = child->next_sibling) {
      if (kind_of(*child) || has_device_below(*child)) return true;
    }
    return false;
  }

  int add_bridge(const hwloc_obj& object, int above) {
    const auto& bridge = object.attr->bridge;
    Node node;
    node.parent = above;
    if (bridge.upstream_type == HWLOC_OBJ_BRIDGE_HOST) {
      node.kind = Kind::kHostBridge;
      node.address = {.domain = bridge.downstream.pci.domain, .bus = bridge.downstream.pci.secondary_bus};
    } else {
      const auto& pci = bridge.upstream.pci;
      node.kind = Kind::kBridge;
      node.address = address_of(pci);
      node.vendor = pci.vendor_id;
      node.device = pci.device_id;
      node.pci_class = std::uint32_t{pci.class_id} << 8;
      node.link_gbps = link_gbps(pci);
    }
    return add(std::move(node));
  }

  void add_device(const hwloc_obj& object, int above) {
    const auto kind = kind_of(object);
    if (!kind) return;
    const auto& pci = object.attr->pcidev;
    Node node;
    node.kind = *kind;
    node.parent = above;
    node.address = address_of(pci);
    node.vendor = pci.vendor_id;
    node.device = pci.device_id;
    node.pci_class = std::uint32_t{pci.class_id} << 8;
    node.link_gbps = link_gbps(pci);
    if (tree_.find(node.address) >= 0) {
      tree_.oddities.push_back("PCI address " + node.address.text() +
                               " stands twice in the topology: the second is left out");
      return;
    }
    if (*kind == Kind::kNic) name_nic(node, object);
    add(std::move(node));
  }

  static void name_nic(Node& node, const hwloc_obj& object) {
    std::string rdma, net;
    for (const hwloc_obj* child = object.io_first_child; child != nullptr; child = child->next_sibling) {
      if (child->type != HWLOC_OBJ_OS_DEVICE || child->name == nullptr) continue;
      if (child->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS && rdma.empty()) {
        rdma = child->name;
        if (const char* guid = info(*child, "NodeGUID")) {
          std::string digits(guid);
          std::erase(digits, ':');
          std::istringstream(digits) >> std::hex >> node.node_guid;
        }
      } else if (child->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK && net.empty()) {
        net = child->name;
      }
    }
    node.name = !rdma.empty() ? rdma : !net.empty() ? net : node.address.text();
  }

  int numa_node(const hwloc_obj& near) {
    if (near.nodeset == nullptr || weight_(near.nodeset) != 1) return 0;
    return tree_.numa_node(first_(near.nodeset));
  }

  int add(Node node) {
    tree_.nodes.push_back(std::move(node));
    return static_cast<int>(tree_.nodes.size()) - 1;
  }

  decltype(&hwloc_bitmap_weight) weight_;
  decltype(&hwloc_bitmap_first) first_;
  Tree tree_;
};

}  // namespace

Hwloc::Hwloc(std::unique_ptr<Functions> functions) noexcept : functions_(std::move(functions)) {}
Hwloc::Hwloc(Hwloc&&) noexcept = default;
Hwloc& Hwloc::operator=(Hwloc&&) noexcept = default;
Hwloc::~Hwloc() = default;

Result<Hwloc> Hwloc::open() {
  auto functions = std::make_unique<Functions>();
  functions->library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (functions->library == nullptr) return fail(Code::kMissing, std::string("hwloc is not there: ") + dlerror());
  if (const char* missing = functions->look_up()) {
    return fail(Code::kMissing, std::string(kLibrary) + " has no " + missing + "; hwloc 2.1 or newer is needed");
  }
  const unsigned version = functions->api_version();
  if (version >> 16 != kSeries) {
    return fail(Code::kMissing, std::string(kLibrary) + " is of series " + std::to_string(version >> 16) + ", not 2");
  }
  return Hwloc(std::move(functions));
}

Result<Tree> Hwloc::read(const char* xml) const {
  hwloc_topology_t topology = nullptr;
  if (functions_->init(&topology) != 0) return fail(Code::kSystem, errno, "hwloc_topology_init failed");
  const auto destroy = [this](hwloc_topology_t made) { functions_->destroy(made); };
  const std::unique_ptr<hwloc_topology, decltype(destroy)> owner(topology, destroy);
  // These would start drivers and make contexts on GPUs, in a process that is not ours.
  for (const char* component : {"cuda", "nvml", "opencl", "rsmi", "levelzero", "gl"}) {
    functions_->set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, component);
  }
  // A container may have some of the processors only; GPUs and NICs keep their places by the others.
  functions_->set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  functions_->set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL);
  for (const auto type : {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_CORE}) {
    functions_->set_type_filter(topology, type, HWLOC_TYPE_FILTER_KEEP_NONE);
  }
  if (xml != nullptr && functions_->set_xml(topology, xml) != 0) {
    return fail(
        Code::kArgument, errno,
        std::string(xml) + " is no XML of hwloc 2 (" + std::strerror(errno) + "); make one with: lstopo FILE.xml");
  }
  if (functions_->load(topology) != 0) {
    const int error = errno;
    if (xml == nullptr)
      return fail(Code::kSystem, error, std::string("hwloc could not read this machine: ") + std::strerror(error));
    return fail(Code::kArgument, error,
                std::string(xml) + " is not what lstopo writes: hwloc cannot load it (" + std::strerror(error) +
                    "); make one with: lstopo FILE.xml");
  }
  const hwloc_obj* machine = functions_->object_at(topology, 0, 0);
  if (machine == nullptr) return fail(Code::kSystem, "hwloc found no machine");
  return Converter(functions_->weight, functions_->first).convert(*machine);
}

Result<Tree> Hwloc::read_machine() const {
  TRY(Tree tree, read(nullptr));
  if (const std::string name = product_name("/"); !name.empty()) tree.instance_type = name;
  for (Node& node : tree.nodes) describe(node, "/");
  return tree;
}

Result<Tree> Hwloc::read_xml(const std::filesystem::path& file) const {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) {
    return fail(Code::kArgument, file.string() + (error ? ": " + error.message() : " is not a file"));
  }
  TRY(Tree tree, read(file.c_str()));
  const Instance* const instance = find_instance(tree.instance_type);
  for (Node& node : tree.nodes) {
    if (instance != nullptr && node.is_efa() && node.speed_mbps == 0) node.speed_mbps = instance->nic_mbps;
  }
  return tree;
}

}  // namespace weft::topology
