// The fake's address vector.
#include <rdma/fi_errno.h>

#include <algorithm>
#include <mutex>

#include "tests/fabric_fake/fake_address.h"
#include "tests/fabric_fake/network.h"

namespace weft::test {
namespace {

int close_av(fid* raw) {
  auto& av = object_of<FakeAv, fid_av>(raw);
  const std::lock_guard guard(av.network.lock);
  return av.network.close(av);
}

fi_addr_t insert_one(FakeAv& av, std::size_t endpoint) {
  const auto same = std::ranges::find_if(
      av.entries, [&](const FakeAv::Entry& entry) { return entry.uses != 0 && entry.endpoint == endpoint; });
  if (same != av.entries.end()) {
    ++same->uses;
    return static_cast<fi_addr_t>(same - av.entries.begin());
  }
  const auto unused = std::ranges::find(av.entries, 0U, &FakeAv::Entry::uses);
  if (unused != av.entries.end()) {
    *unused = {endpoint, 1};
    return static_cast<fi_addr_t>(unused - av.entries.begin());
  }
  av.entries.push_back({endpoint, 1});
  return av.entries.size() - 1;
}

/// Returns how many were inserted; an address that is none gets FI_ADDR_NOTAVAIL (fi_av(3)).
int insert(fid_av* raw, const void* addresses, std::size_t count, fi_addr_t* out, std::uint64_t, void*) {
  auto& av = static_cast<FakeAv&>(*raw);
  const std::lock_guard guard(av.network.lock);
  if (const int rc = av.network.setup(SetupCall::kAvInsert); rc != 0) return rc;
  int inserted = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto endpoint = parse_address(static_cast<const std::byte*>(addresses) + i * kFakeAddressBytes);
    fi_addr_t entry = FI_ADDR_NOTAVAIL;
    if (endpoint) {
      entry = insert_one(av, *endpoint);
      ++inserted;
    }
    if (out != nullptr) out[i] = entry;
  }
  return inserted;
}

int remove(fid_av* raw, fi_addr_t* addresses, std::size_t count, std::uint64_t) {
  auto& av = static_cast<FakeAv&>(*raw);
  const std::lock_guard guard(av.network.lock);
  for (std::size_t i = 0; i < count; ++i) {
    if (addresses[i] >= av.entries.size() || av.entries[addresses[i]].uses == 0) return -FI_EINVAL;
    --av.entries[addresses[i]].uses;
  }
  return 0;
}

int lookup(fid_av* raw, fi_addr_t address, void* out, std::size_t* size) {
  auto& av = static_cast<FakeAv&>(*raw);
  const std::lock_guard guard(av.network.lock);
  if (address >= av.entries.size() || av.entries[address].uses == 0) return -FI_EINVAL;
  write_address(av.entries[address].endpoint, out, *size);
  *size = kFakeAddressBytes;
  return 0;
}

fi_ops* fid_ops() {
  static fi_ops ops = [] {
    fi_ops made{};
    made.size = sizeof made;
    made.close = close_av;
    unsupported(made.bind);
    unsupported(made.control);
    unsupported(made.ops_open);
    return made;
  }();
  return &ops;
}

fi_ops_av* av_ops() {
  static fi_ops_av ops = [] {
    fi_ops_av made{};
    made.size = sizeof made;
    made.insert = insert;
    unsupported(made.insertsvc);
    unsupported(made.insertsym);
    made.remove = remove;
    made.lookup = lookup;
    made.straddr = [](fid_av*, const void*, char*, std::size_t*) -> const char* { return "fake"; };
    return made;
  }();
  return &ops;
}

}  // namespace

FakeAv::FakeAv(FakeDomain& domain) : fid_av{}, Object(domain.network, "address vector", &domain) {
  fid.fclass = FI_CLASS_AV;
  fid.ops = fid_ops();
  ops = av_ops();
}

std::size_t FakeAv::endpoint_of(fi_addr_t address) const noexcept {
  return address < entries.size() && entries[address].uses != 0 ? entries[address].endpoint : 0;
}

}  // namespace weft::test
