#include "tests/fabric_fake/fake_fabric.h"

#include <gtest/gtest.h>
#include <rdma/fi_errno.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <ranges>

#include "tests/fabric_fake/fake_info.h"
#include "tests/fabric_fake/network.h"

namespace weft::test {
namespace {

std::atomic<Network*> current{nullptr};

std::uint32_t version() { return current.load()->options.version; }

/// Offers every NIC that serves the hints. Node, service and flags are what nobody here uses.
int get_info(std::uint32_t, const char*, const char*, std::uint64_t, const fi_info* hints, fi_info** out) {
  Network& network = *current.load();
  const std::lock_guard guard(network.lock);
  if (const int rc = network.setup(SetupCall::kGetInfo); rc != 0) return rc;
  fi_info* first = nullptr;
  fi_info** tail = &first;
  for (const FakeNic& nic : network.options.nics) {
    *tail = offer(nic, hints);
    if (*tail != nullptr) tail = &(*tail)->next;
  }
  *out = first;
  return first != nullptr ? 0 : -FI_ENODATA;
}

int open_fabric(fi_fabric_attr*, fid_fabric** out, void* context) {
  Network& network = *current.load();
  const std::lock_guard guard(network.lock);
  if (const int rc = network.setup(SetupCall::kFabric); rc != 0) return rc;
  auto& fabric = network.make<FakeFabricObject>(network);
  fabric.fid.context = context;
  *out = &fabric;
  return 0;
}

/// libfabric's own numbers begin behind errno's.
const char* error_text(int error) {
  switch (error) {
    case FI_EOPBADSTATE: return "Operation not permitted in current state";
    case FI_EAVAIL: return "Error available";
    case FI_ETOOSMALL: return "Provided buffer is too small";
    case FI_ENOAV: return "No address vector is bound";
    case FI_ENOCQ: return "No completion queue is bound";
    case FI_ETRUNC: return "Truncation error";
    default: return std::strerror(error);
  }
}

}  // namespace

fabric::Functions FakeFabric::functions() {
  return {.version = version,
          .getinfo = get_info,
          .freeinfo = free_info,
          .dupinfo = dup_info,
          .fabric = open_fabric,
          .strerror = error_text};
}

FakeFabric::FakeFabric(FakeOptions options)
    : network_(std::make_unique<Network>(std::move(options))), library_(functions(), "the fake fabric") {
  if (current.exchange(network_.get()) != nullptr) network_->complain("two fake fabrics at a time");
}

FakeFabric::~FakeFabric() {
  current = nullptr;
  for (const std::string& complaint : network_->failures) ADD_FAILURE() << "fake fabric: " << complaint;
  for (const auto& object : network_->objects()) {
    if (!object->closed) ADD_FAILURE() << "fake fabric: a " << object->kind << " was never closed";
  }
}

FaultPlan& FakeFabric::faults() noexcept { return network_->plan; }

bool FakeFabric::step() {
  const std::lock_guard guard(network_->lock);
  return network_->step();
}

std::size_t FakeFabric::run_until_idle() {
  const std::lock_guard guard(network_->lock);
  std::size_t delivered = 0;
  while (network_->step()) ++delivered;
  return delivered;
}

std::size_t FakeFabric::in_flight() const {
  const std::lock_guard guard(network_->lock);
  return network_->in_flight();
}

std::size_t FakeFabric::endpoint_of(std::span<const std::byte> address) {
  return address.size() == kFakeAddressBytes ? parse_address(address.data()).value_or(0) : 0;
}

void FakeFabric::kill(std::size_t endpoint, Death death) {
  const std::lock_guard guard(network_->lock);
  FakeEndpoint* const ep = network_->endpoint(endpoint);
  if (ep == nullptr || ep->closed) {
    network_->complain("no endpoint to kill");
    return;
  }
  network_->kill(*ep, death == Death::kSilent ? FakeEndpoint::State::kSilent : FakeEndpoint::State::kRefusing);
}

std::size_t FakeFabric::posted_receives(std::size_t endpoint) const {
  const std::lock_guard guard(network_->lock);
  const FakeEndpoint* const ep = network_->endpoint(endpoint);
  return ep == nullptr ? 0 : ep->posted[0].size() + ep->posted[1].size();
}

std::size_t FakeFabric::unexpected_messages(std::size_t endpoint) const {
  const std::lock_guard guard(network_->lock);
  const FakeEndpoint* const ep = network_->endpoint(endpoint);
  return ep == nullptr ? 0 : ep->unexpected[0].size() + ep->unexpected[1].size();
}

std::uint64_t FakeFabric::setup_calls() const {
  const std::lock_guard guard(network_->lock);
  return network_->setup_calls;
}

std::uint64_t FakeFabric::posts(Verb verb) const {
  const std::lock_guard guard(network_->lock);
  return network_->posts[static_cast<std::size_t>(verb)];
}

std::size_t FakeFabric::open_objects() const {
  const std::lock_guard guard(network_->lock);
  std::size_t open = 0;
  for (const auto& object : network_->objects()) open += object->closed ? 0 : 1;
  return open;
}

std::size_t FakeFabric::close_leaked() {
  const std::lock_guard guard(network_->lock);
  std::size_t closed = 0;
  // What was made last depends on what was made before.
  for (const auto& object : std::views::reverse(network_->objects())) {
    if (!object->closed && network_->close(*object) == 0) ++closed;
  }
  return closed;
}

std::vector<Registration> FakeFabric::registrations() const {
  const std::lock_guard guard(network_->lock);
  std::vector<Registration> found;
  for (const auto& object : network_->objects()) {
    const auto* const mr = dynamic_cast<const FakeMr*>(object.get());
    if (mr == nullptr || mr->closed) continue;
    const bool cuda = mr->iface == FI_HMEM_CUDA;
    found.push_back({mr->data, mr->size, mr->access, cuda, mr->device, mr->dmabuf_fd, mr->dmabuf_offset, mr->key});
  }
  return found;
}

std::vector<std::string> FakeFabric::take_complaints() {
  const std::lock_guard guard(network_->lock);
  return std::exchange(network_->failures, {});
}

std::size_t fail_each_setup_call(const FakeOptions& options, const std::function<bool(FakeFabric&)>& body,
                                 unsigned calls) {
  for (std::size_t n = 1;; ++n) {
    SCOPED_TRACE("set-up call " + std::to_string(n) + " fails");
    FakeFabric fake(options);
    fake.faults().on_setup(calls, Selector::nth(n), FI_EIO);
    const bool succeeded = body(fake);
    EXPECT_EQ(fake.open_objects(), 0U);
    if (fake.faults().fired() == 0) {
      EXPECT_TRUE(succeeded) << "it fails although no call fails";
      return n - 1;
    }
    EXPECT_FALSE(succeeded) << "the failure of a call was not noticed";
  }
}

}  // namespace weft::test
