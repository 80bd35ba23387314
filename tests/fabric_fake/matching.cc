// Where a message meets its receive, and what both ends hear of it.
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "tests/fabric_fake/network.h"

namespace weft::test {
namespace {

std::uint64_t completion_flags(bool tagged, std::uint64_t direction) noexcept {
  return (tagged ? FI_TAGGED : FI_MSG) | direction;
}

/// How much of a context is the provider's, in words (fi_getinfo(3), FI_CONTEXT and FI_CONTEXT2).
std::size_t context_words(const FakeEndpoint& ep) noexcept {
  if ((ep.nic.mode & FI_CONTEXT2) != 0) return 8;
  return (ep.nic.mode & FI_CONTEXT) != 0 ? 4 : 0;
}

/// What stands in the context's words while `slot` has the operation.
std::array<std::uintptr_t, 8> mark_of(const void* slot) noexcept {
  std::array<std::uintptr_t, 8> words{};
  std::uintptr_t word = reinterpret_cast<std::uintptr_t>(slot) ^ 0x5eed'0000'0000'0000;
  for (std::uintptr_t& each : words) each = word++;
  return words;
}

}  // namespace

void Network::mark(const FakeEndpoint& ep, void* context, const void* slot) {
  const std::size_t bytes = context_words(ep) * sizeof(void*);
  if (bytes == 0) return;
  if (context == nullptr) {
    complain("a post without a context on " + ep.nic.name + ", which needs one");
    return;
  }
  std::memcpy(context, mark_of(slot).data(), bytes);
}

void Network::check_mark(const FakeEndpoint& ep, void* context, const void* slot) {
  if (context == nullptr) return;
  if (std::memcmp(context, mark_of(slot).data(), context_words(ep) * sizeof(void*)) != 0) {
    complain("an operation's context was changed or used again before its completion");
  }
}

ssize_t Network::receive(FakeEndpoint& ep, const PostEvent& event, const PostedReceive& wanted, void* descriptor) {
  if (ep.state == FakeEndpoint::State::kFresh) return -FI_EOPBADSTATE;
  ++posts[static_cast<std::size_t>(event.verb)];
  if (!check_buffer(ep, event, descriptor, FI_RECV)) return -FI_EINVAL;
  const PostFault fault = plan.next_post(event);
  if (fault.kind != PostFault::Kind::kNone) return launch(ep, event, descriptor, wanted.context, fault);
  PostedReceive* const posted = ep.receives->acquire();
  if (posted == nullptr) return -FI_EAGAIN;
  *posted = wanted;
  posted->mr = static_cast<FakeMr*>(descriptor);
  mark(ep, posted->context, posted);
  ep.posted[posted->tagged].push_back(*posted);
  for (Flight* each = ep.unexpected[posted->tagged].front(); each != nullptr; each = each->next) {
    if (!posted->matches(*each)) continue;
    ep.unexpected[posted->tagged].erase(*each);
    match(ep, *posted, *each);
    break;
  }
  return 0;
}

void Network::match(FakeEndpoint& to, PostedReceive& receive, Flight& flight) {
  // A send that has completed lives on in its copy only.
  const void* const bytes = flight.from != nullptr ? flight.event.data : flight.room;
  fi_cq_err_entry entry{};
  entry.op_context = receive.context;
  entry.flags = completion_flags(receive.tagged, FI_RECV);
  entry.len = std::min(flight.event.size, receive.size);
  entry.buf = receive.data;
  entry.tag = flight.event.tag;
  if (flight.event.size > receive.size) {
    entry.err = FI_ETRUNC;
    entry.olen = flight.event.size - receive.size;
  }
  if (entry.len != 0) std::memcpy(receive.data, bytes, entry.len);
  end_receive(to, receive, entry);
  if (flight.from != nullptr) end_send(flight, 0, 0);
  pool_.release(flight);
}

void Network::end_send(Flight& flight, int error, int provider_error) {
  FakeEndpoint& ep = *flight.from;
  const bool is_send = (bit(flight.event.verb) & kReceives) == 0;
  check_mark(ep, flight.context, &flight);
  fi_cq_err_entry entry{};
  entry.op_context = flight.fault.anonymous ? nullptr : flight.context;
  entry.flags = completion_flags(flight.tagged(), is_send ? FI_SEND : FI_RECV);
  if (flight.one_sided()) entry.flags = FI_RMA | (flight.event.verb == Verb::kRead ? FI_READ : FI_WRITE);
  entry.tag = flight.event.tag;
  entry.err = error;
  entry.prov_errno = provider_error;
  ep.cq->push(entry);
  if (is_send) --ep.sends;
  flight.from = nullptr;
}

void Network::end_receive(FakeEndpoint& ep, PostedReceive& receive, const fi_cq_err_entry& entry) {
  check_mark(ep, receive.context, &receive);
  ep.cq->push(entry);
  ep.posted[receive.tagged].erase(receive);
  ep.receives->release(receive);
}

ssize_t Network::cancel(FakeEndpoint& ep, void* context) {
  for (const auto& list : ep.posted) {
    for (PostedReceive* each = list.front(); each != nullptr; each = each->next) {
      if (each->context != context) continue;
      fi_cq_err_entry entry{};
      entry.op_context = context;
      entry.flags = completion_flags(each->tagged, FI_RECV);
      entry.tag = each->tag;
      entry.err = FI_ECANCELED;
      end_receive(ep, *each, entry);
      return 0;
    }
  }
  return -FI_ENOENT;
}

bool Network::in_use(const FakeMr& mr) {
  const auto uses = [&](const auto& list) {
    for (const auto* each = list.front(); each != nullptr; each = each->next) {
      if (each->mr == &mr) return true;
    }
    return false;
  };
  if (uses(flights_) || uses(lost_)) return true;
  for (const FakeEndpoint* const ep : endpoints_) {
    for (const auto& list : ep->posted) {
      if (uses(list)) return true;
    }
    for (const auto& list : ep->unexpected) {
      for (const Flight* each = list.front(); each != nullptr; each = each->next) {
        if (each->from != nullptr && each->mr == &mr) return true;
      }
    }
  }
  return false;
}

}  // namespace weft::test
