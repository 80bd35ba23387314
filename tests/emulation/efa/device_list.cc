#include <sys/prctl.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "tests/emulation/efa/context.h"
#include "tests/emulation/efa/settings.h"

namespace weft::emulation::efa {
namespace {

std::vector<Device*> make_devices() {
  std::vector<Device*> devices;
  for (uint32_t i = 0; i < settings().nics; ++i) {
    auto* device = new Device{};
    device->nic = i;
    device->gid = gid_of(settings().node, i);
    ibv_device& verbs = device->verbs;
    verbs.node_type = static_cast<ibv_node_type>(7);            // IBV_NODE_UNSPECIFIED
    verbs.transport_type = static_cast<ibv_transport_type>(4);  // IBV_TRANSPORT_UNSPECIFIED
    snprintf(verbs.name, sizeof verbs.name, "efa_%u", i);
    snprintf(verbs.dev_name, sizeof verbs.dev_name, "uverbs%u", i);
    snprintf(verbs.ibdev_path, sizeof verbs.ibdev_path, "/sys/class/infiniband/efa_%u", i);
    snprintf(verbs.dev_path, sizeof verbs.dev_path, "/sys/class/infiniband_verbs/uverbs%u", i);
    devices.push_back(device);
  }
  return devices;
}

// With the first call of the host program: nothing here depends on the order of static constructors.
const std::vector<Device*>& devices() {
  static std::once_flag once;
  static std::vector<Device*>* all;
  std::call_once(once, [] {
    // Peers copy out of and into this process, as a NIC would, also where only a parent may trace its children.
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    all = new std::vector<Device*>(make_devices());
  });
  return *all;
}

}  // namespace
}  // namespace weft::emulation::efa

using namespace weft::emulation::efa;

WEFT_VERBS ibv_device** ibv_get_device_list(int* count) {
  const auto& all = devices();
  auto** list = static_cast<ibv_device**>(calloc(all.size() + 1, sizeof(ibv_device*)));
  for (size_t i = 0; i < all.size(); ++i) list[i] = &all[i]->verbs;
  if (count != nullptr) *count = static_cast<int>(all.size());
  return list;
}

WEFT_VERBS void ibv_free_device_list(ibv_device** list) { free(static_cast<void*>(list)); }
WEFT_VERBS const char* ibv_get_device_name(ibv_device* device) { return device->name; }
WEFT_VERBS int ibv_fork_init(void) { return 0; }
WEFT_VERBS ibv_fork_status ibv_is_fork_initialized(void) { return IBV_FORK_UNNEEDED; }
WEFT_VERBS const char* ibv_wc_status_str(ibv_wc_status) { return "status of the emulated EFA"; }
// Not emulated: efa has no shared receive queues.
WEFT_VERBS ibv_srq* ibv_create_srq(ibv_pd*, ibv_srq_init_attr*) {
  errno = EOPNOTSUPP;
  return nullptr;
}
WEFT_VERBS int ibv_destroy_srq(ibv_srq*) { return EOPNOTSUPP; }
