// The two halves of a transfer: a message under way, and a receive that waits for one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/fabric_fake/fault_plan.h"

namespace weft::test {

struct FakeEndpoint;
struct FakeMr;

/// A send from its post to its end, or a receive that was told to fail and waits for its turn to say so.
struct Flight {
  Flight* next = nullptr;
  Flight* previous = nullptr;
  std::byte* room = nullptr;  ///< the slot's own bytes for eager copies

  PostEvent event{};
  FakeEndpoint* from = nullptr;  ///< null once the send has completed
  FakeMr* mr = nullptr;
  void* context = nullptr;
  std::uint64_t checksum = 0;
  std::uint64_t due = 0;  ///< the count of completion queue reads from which on it may arrive
  PostFault fault{};

  bool one_sided() const noexcept { return (bit(event.verb) & kOneSided) != 0; }
  bool tagged() const noexcept { return event.verb == Verb::kTaggedSend || event.verb == Verb::kTaggedReceive; }
};

struct PostedReceive {
  PostedReceive* next = nullptr;
  PostedReceive* previous = nullptr;

  void* data = nullptr;
  std::size_t size = 0;
  std::uint64_t tag = 0;
  std::uint64_t ignore = 0;
  std::size_t from = 0;  ///< the only endpoint whose messages it takes; 0: any
  FakeMr* mr = nullptr;
  void* context = nullptr;
  bool tagged = false;

  bool matches(const Flight& flight) const noexcept {
    if (from != 0 && from != flight.event.from) return false;
    return !tagged || ((tag ^ flight.event.tag) & ~ignore) == 0;
  }
};

}  // namespace weft::test
