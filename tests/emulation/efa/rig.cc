#include "tests/emulation/efa/rig.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

namespace weft::emulation::efa {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolder = "/dev/shm";

std::optional<Gid> gid_from(std::string_view digits) {
  Gid gid;
  if (digits.size() != 2 * gid.size()) return {};
  for (size_t i = 0; i < gid.size(); ++i) {
    const char* begin = digits.data() + 2 * i;
    if (std::from_chars(begin, begin + 2, gid[i], 16).ptr != begin + 2) return {};
  }
  return gid;
}

std::vector<fs::path> objects() {
  std::vector<fs::path> paths;
  const std::string prefix = shared_name("").substr(1);
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(kFolder, ignored)) {
    if (entry.path().filename().string().starts_with(prefix)) paths.push_back(entry.path());
  }
  return paths;
}

// "*": any. An unreadable number matches nothing.
struct Number {
  explicit Number(std::string_view text) : any(text == "*") {
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    exact = result.ec == std::errc{} && result.ptr == text.data() + text.size();
  }
  bool fits(uint32_t number) const { return any || (exact && number == value); }

  bool any, exact = false;
  uint32_t value = 0;
};

}  // namespace

Rig::Rig(std::string name) {
  const char* own = getenv("WEFT_LAB_EFA_DOMAIN");
  if (name.empty() && own != nullptr) name = own;
  if (!name.empty()) set_domain(std::move(name));
}

std::vector<SharedDevice*> Rig::nics() const {
  std::vector<SharedDevice*> found;
  for (const fs::path& path : objects()) {
    const auto gid = gid_from(path.filename().string().substr(shared_name("").size() - 1));
    if (!gid) continue;
    if (SharedDevice* device = map_device(*gid, false); device != nullptr) found.push_back(device);
  }
  std::sort(found.begin(), found.end(), [](const SharedDevice* a, const SharedDevice* b) { return a->gid < b->gid; });
  return found;
}

SharedDevice* Rig::nic(uint32_t node, uint32_t nic) const { return map_device(gid_of(node, nic), true); }

std::vector<SharedDevice*> Rig::select(std::string_view selector) const {
  if (selector == "all") selector = "*:*";
  const size_t colon = selector.find(':');
  if (colon == std::string_view::npos) return {};
  const Number wanted_node(selector.substr(0, colon)), wanted_nic(selector.substr(colon + 1));
  if (wanted_node.exact && wanted_nic.exact) {
    SharedDevice* device = nic(wanted_node.value, wanted_nic.value);
    return device != nullptr ? std::vector{device} : std::vector<SharedDevice*>{};
  }
  std::vector<SharedDevice*> found = nics();
  std::erase_if(found, [&](const SharedDevice* device) {
    return !wanted_node.fits(device->node) || !wanted_nic.fits(device->nic);
  });
  return found;
}

void Rig::clean() const {
  std::error_code ignored;
  for (const fs::path& path : objects()) fs::remove_all(path, ignored);
}

void fail(SharedDevice& nic, uint64_t status) { nic.knobs.fail_status = status; }

void restore(SharedDevice& nic) {
  nic.knobs.fail_after = 0;
  nic.knobs.blackhole = 0;
  nic.knobs.fail_status = 0;
}

uint64_t sum(const std::vector<SharedDevice*>& nics, std::atomic<uint64_t> Counters::* counter) {
  uint64_t total = 0;
  for (SharedDevice* nic : nics) total += nic->counters.*counter;
  return total;
}

}  // namespace weft::emulation::efa
