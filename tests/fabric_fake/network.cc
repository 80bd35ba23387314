#include "tests/fabric_fake/network.h"

#include <rdma/fi_errno.h>

#include <algorithm>

namespace weft::test {

Network::Network(FakeOptions wanted)
    : options(std::move(wanted)), rooms_(options.flights * options.eager_bytes), pool_(options.flights) {
  std::byte* room = rooms_.data();
  for (Flight& flight : pool_.items()) {
    flight.room = room;
    room += options.eager_bytes;
  }
}

FakeEndpoint& Network::make_endpoint(FakeDomain& domain) {
  FakeEndpoint& ep = make<FakeEndpoint>(domain, endpoints_.size() + 1);
  endpoints_.push_back(&ep);
  return ep;
}

FakeEndpoint* Network::endpoint(std::size_t number) const noexcept {
  return number == 0 || number > endpoints_.size() ? nullptr : endpoints_[number - 1];
}

int Network::setup(SetupCall call) {
  ++setup_calls;
  return plan.next_setup(call);
}

int Network::close(Object& object) {
  if (object.closed) {
    complain(std::string(object.kind) + " closed twice");
    return -FI_EINVAL;
  }
  if (object.dependents != 0) return -FI_EBUSY;
  object.on_close();
  object.closed = true;
  if (object.parent != nullptr) --object.parent->dependents;
  return 0;
}

Entry::Entry(Network& network, FakeCq* cq) : network_(network), cq_(cq) {
  // Relaxed: the check must not order what Weft failed to order, or it would hide a race from the thread sanitizer.
  const bool clash = cq_ != nullptr && cq_->entered.exchange(true, std::memory_order_relaxed);
  network_.lock.lock();
  if (clash) network_.complain("two threads inside one completion queue and its endpoints at once");
}

Entry::~Entry() {
  if (cq_ != nullptr) cq_->entered.store(false, std::memory_order_relaxed);
  network_.lock.unlock();
}

}  // namespace weft::test
