// RDMA writes and reads: what the target's NIC does, and what becomes of those that are reported failed.
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>

#include <cstring>

#include "tests/fabric_fake/network.h"

namespace weft::test {
namespace {

/// EFA's status for memory that the target has not registered.
constexpr int kBadAddress = 7;

}  // namespace

/// Where the operation reaches; null where the target has no such memory.
std::byte* Network::target_of(FakeEndpoint& to, const Flight& flight) const noexcept {
  const std::uint64_t needed = flight.event.verb == Verb::kRead ? FI_REMOTE_READ : FI_REMOTE_WRITE;
  for (const auto& object : objects_) {
    const auto* const mr = dynamic_cast<const FakeMr*>(object.get());
    if (mr == nullptr || mr->closed || mr->parent != to.parent || mr->key != flight.event.key) continue;
    const bool is_virtual = (to.nic.mr_mode & FI_MR_VIRT_ADDR) != 0;
    const auto base = is_virtual ? 0 : reinterpret_cast<std::uintptr_t>(mr->data);
    auto* const at = reinterpret_cast<std::byte*>(base + flight.event.remote);
    return (mr->access & needed) != 0 && mr->covers(at, flight.event.size) ? at : nullptr;
  }
  return nullptr;
}

/// False: the target refuses.
bool Network::work(FakeEndpoint& to, const Flight& flight) {
  std::byte* const at = target_of(to, flight);
  if (at == nullptr) return false;
  const PostEvent& event = flight.event;
  if (event.verb == Verb::kRead) {
    std::memcpy(const_cast<void*>(event.data), at, event.size);
    return true;
  }
  // One that is late has only the copy that was made when it was reported failed.
  if (event.size != 0) std::memcpy(at, event.late ? flight.room : event.data, event.size);
  if (event.verb == Verb::kWrite) return true;
  fi_cq_err_entry entry{};
  entry.flags = FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA;
  entry.len = event.size;
  entry.data = event.immediate;
  to.cq->push(entry);
  return true;
}

void Network::execute(FakeEndpoint& to, Flight& flight) {
  const bool done = work(to, flight);
  end_send(flight, done ? 0 : FI_EINVAL, done ? 0 : kBadAddress);
  pool_.release(flight);
}

void Network::follow_failure(Flight& flight) {
  using Work = PostFault::Work;
  const PostFault fault = flight.fault;
  FakeEndpoint* const to = endpoint(flight.event.to);
  const bool is_there = to != nullptr && to->state == FakeEndpoint::State::kEnabled;
  if (fault.work == Work::kBefore && is_there) work(*to, flight);
  const bool goes_on = fault.work == Work::kAfter && is_there && flight.event.verb != Verb::kRead;
  if (goes_on) {
    if (flight.event.size > options.eager_bytes) return complain("a late write must not be longer than eager_bytes");
    if (flight.event.size != 0) std::memcpy(flight.room, flight.event.data, flight.event.size);
  }
  end_send(flight, fault.error, fault.provider_error);
  if (!goes_on) return pool_.release(flight);
  flight.event.late = true;
  flight.fault = {};
  flight.mr = nullptr;
  flight.due = reads_ + plan.delay_reads;
  flights_.push_back(flight);
}

}  // namespace weft::test
