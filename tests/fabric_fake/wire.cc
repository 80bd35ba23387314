// Messages on their way: from the post to the endpoint they are for.
#include <rdma/fi_errno.h>

#include <cstring>

#include "tests/fabric_fake/network.h"

namespace weft::test {
namespace {

constexpr std::uint64_t kNow = ~std::uint64_t{0};

std::uint64_t checksum(const void* data, std::size_t size) noexcept {
  // FNV-1a's step over words, then over the bytes left.
  constexpr std::uint64_t kPrime = 0x100000001b3;
  const auto* bytes = static_cast<const unsigned char*>(data);
  std::uint64_t sum = 0xcbf29ce484222325;
  for (; size >= sizeof(std::uint64_t); size -= sizeof(std::uint64_t), bytes += sizeof(std::uint64_t)) {
    std::uint64_t word;
    std::memcpy(&word, bytes, sizeof word);
    sum = (sum ^ word) * kPrime;
  }
  for (; size > 0; --size, ++bytes) sum = (sum ^ *bytes) * kPrime;
  return sum;
}

}  // namespace

bool Network::check_buffer(FakeEndpoint& ep, const PostEvent& event, void* descriptor, std::uint64_t access) {
  if (descriptor == nullptr) {
    if ((ep.nic.mr_mode & FI_MR_LOCAL) == 0 || event.size == 0) return true;
    complain("a post without a descriptor on " + ep.nic.name + ", which needs registered buffers");
    return false;
  }
  const FakeMr& mr = *static_cast<FakeMr*>(descriptor);
  if (mr.closed) {
    complain("a post with the descriptor of a closed memory region");
    return false;
  }
  if (mr.parent != ep.parent || !mr.covers(event.data, event.size) || (mr.access & access) != access) {
    complain("a post whose descriptor does not cover its buffer, or not for this");
    return false;
  }
  return true;
}

ssize_t Network::send(FakeEndpoint& ep, const PostEvent& event, void* descriptor, void* context) {
  if (ep.state == FakeEndpoint::State::kFresh) return -FI_EOPBADSTATE;
  ++posts[static_cast<std::size_t>(event.verb)];
  if (event.size > ep.nic.max_message) return -FI_EMSGSIZE;
  const bool is_write = (bit(event.verb) & kWrites) != 0;
  const std::uint64_t access = is_write ? FI_WRITE : event.verb == Verb::kRead ? FI_READ : FI_SEND;
  if (!check_buffer(ep, event, descriptor, access)) return -FI_EINVAL;
  PostFault fault = plan.next_post(event);
  if (ep.state != FakeEndpoint::State::kEnabled) fault = PostFault::vanish();
  return launch(ep, event, descriptor, context, fault);
}

ssize_t Network::launch(FakeEndpoint& ep, const PostEvent& event, void* descriptor, void* context,
                        const PostFault& fault) {
  if (fault.kind == PostFault::Kind::kAgain) return -FI_EAGAIN;
  if (fault.kind == PostFault::Kind::kReject) return -fault.error;
  const bool is_send = (bit(event.verb) & kReceives) == 0;
  if (is_send && ep.sends >= ep.nic.tx_size) return -FI_EAGAIN;
  Flight* const flight = pool_.acquire();
  if (flight == nullptr) return -FI_EAGAIN;
  flight->event = event;
  flight->from = &ep;
  flight->mr = static_cast<FakeMr*>(descriptor);
  flight->context = context;
  flight->fault = fault;
  flight->due = reads_ + plan.delay_reads;
  if (is_send) {
    const bool check = options.check_send_buffers && event.verb != Verb::kRead;
    flight->checksum = check ? checksum(event.data, event.size) : 0;
    ++ep.sends;
  }
  mark(ep, context, flight);
  (fault.kind == PostFault::Kind::kVanish ? lost_ : flights_).push_back(*flight);
  if (plan.delivery == Delivery::kInPost) {
    while (step()) {
    }
  }
  return 0;
}

void Network::on_read() {
  ++reads_;
  if (plan.delivery == Delivery::kManual) return;
  const std::uint64_t due = plan.delivery == Delivery::kOnRead ? reads_ : kNow;
  while (Flight* const flight = pick(due)) deliver(*flight);
}

bool Network::step() {
  Flight* const flight = pick(kNow);
  if (flight == nullptr) return false;
  deliver(*flight);
  return true;
}

Flight* Network::pick(std::uint64_t due) noexcept {
  const auto may_move = [&](const Flight& flight) {
    return flight.due <= due && !(plan.hold && plan.hold(flight.event));
  };
  Flight* head = flights_.front();
  while (head != nullptr && !may_move(*head)) head = head->next;
  if (head == nullptr || plan.reorder_window <= 1) return head;

  const auto next_alike = [&](Flight* flight) {
    do flight = flight->next;
    while (flight != nullptr &&
           (flight->from != head->from || flight->event.to != head->event.to || !may_move(*flight)));
    return flight;
  };
  std::size_t candidates = 0;
  for (Flight* each = head; each != nullptr && candidates < plan.reorder_window; each = next_alike(each)) ++candidates;
  Flight* chosen = head;
  for (std::uint64_t skip = plan.random.below(candidates); skip > 0; --skip) chosen = next_alike(chosen);
  return chosen;
}

void Network::deliver(Flight& flight) {
  flights_.erase(flight);
  if (flight.fault.kind == PostFault::Kind::kError) return follow_failure(flight);
  FakeEndpoint* const to = endpoint(flight.event.to);
  if (flight.event.late) {
    if (to != nullptr && to->state == FakeEndpoint::State::kEnabled) work(*to, flight);
    pool_.release(flight);
  } else if (to != nullptr && to->state == FakeEndpoint::State::kEnabled) {
    check_unchanged(flight);
    flight.one_sided() ? execute(*to, flight) : arrive(*to, flight);
  } else if (to != nullptr && to->state == FakeEndpoint::State::kSilent) {
    lost_.push_back(flight);
  } else {
    end_send(flight, FI_ECONNREFUSED, 0);
    pool_.release(flight);
  }
}

void Network::check_unchanged(const Flight& flight) {
  if (!options.check_send_buffers || flight.event.verb == Verb::kRead) return;
  if (flight.checksum != checksum(flight.event.data, flight.event.size)) {
    complain("a send buffer was changed before its completion");
  }
}

void Network::arrive(FakeEndpoint& to, Flight& flight) {
  for (PostedReceive* each = to.posted[flight.tagged()].front(); each != nullptr; each = each->next) {
    if (!each->matches(flight)) continue;
    match(to, *each, flight);
    return;
  }
  if (flight.event.size <= options.eager_bytes) {
    if (flight.event.size != 0) std::memcpy(flight.room, flight.event.data, flight.event.size);
    end_send(flight, 0, 0);
  }
  to.unexpected[flight.tagged()].push_back(flight);
}

void Network::kill(FakeEndpoint& ep, FakeEndpoint::State state) {
  ep.state = state;
  discard(ep);
}

void Network::discard(FakeEndpoint& ep) {
  const auto is_ours = [&](const Flight& flight) { return flight.from == &ep; };
  const auto forget = [&](Flight& flight) { pool_.release(flight); };
  flights_.extract_if(is_ours, forget);
  lost_.extract_if(is_ours, forget);
  for (FakeEndpoint* const other : endpoints_) {
    for (auto& list : other->unexpected) list.extract_if(is_ours, forget);
  }
  ep.sends = 0;
  const auto all = [](const auto&) { return true; };
  for (auto& list : ep.posted) list.extract_if(all, [&](PostedReceive& each) { ep.receives->release(each); });
  for (auto& list : ep.unexpected) {
    list.extract_if(all, [&](Flight& flight) {
      if (flight.from != nullptr && ep.state == FakeEndpoint::State::kSilent) {
        lost_.push_back(flight);
        return;
      }
      if (flight.from != nullptr) end_send(flight, FI_ECONNRESET, 0);
      pool_.release(flight);
    });
  }
}

}  // namespace weft::test
