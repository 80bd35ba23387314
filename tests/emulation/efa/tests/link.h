#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "tests/emulation/efa/rig.h"
#include "tests/emulation/efa/tests/station.h"

namespace weft::emulation::efa {

// Two stations of one host on two NICs, and the rig from outside. The parameter is the fabric: efa or efa-direct.
class Link : public testing::TestWithParam<std::string> {
 public:
  Link() : sender(GetParam(), 0), receiver(GetParam(), 1) {
    reset();
    sender.connect(receiver.card());
    receiver.connect(sender.card());
    std::iota(sender.outbox().begin(), sender.outbox().end(), uint8_t{1});
    // What the provider says to a peer first is not what the tests look at.
    EXPECT_TRUE(sender.write(kHello, 0, 64));
    EXPECT_TRUE(settle(1));
    std::fill(receiver.inbox().begin(), receiver.inbox().end(), uint8_t{0});
    forget();
    reset();
  }
  ~Link() override { reset(); }

  // Knobs as they were, counters at zero.
  void reset() {
    for (SharedDevice* nic : {&from, &to}) {
      for (const KnobName& knob : kKnobs) nic->knobs.*knob.field = knob.initial;
      for (const CounterName& counter : kCounters) nic->counters.*counter.field = 0;
    }
  }

  bool is_direct() const { return GetParam() == "efa-direct"; }
  std::vector<Station*> both() { return {&sender, &receiver}; }

  // Until `count` writes have ended here and arrived there.
  bool settle(size_t count) {
    return run_until(both(), [&] { return sender.events().size() >= count && arrived() >= count; });
  }
  bool wait_for_error() {
    return run_until(both(), [&] { return !errors().empty(); });
  }
  void forget() {
    sender.events().clear();
    receiver.events().clear();
  }

  size_t arrived() { return immediates().size(); }
  std::vector<uint64_t> immediates() {
    std::vector<uint64_t> all;
    for (const Event& event : receiver.events()) {
      if (event.is_arrival()) all.push_back(event.data);
    }
    return all;
  }
  std::vector<Event> errors() {
    std::vector<Event> all;
    for (const Event& event : sender.events()) {
      if (event.error != 0) all.push_back(event);
    }
    return all;
  }
  // The status of the emulated device in an error of the sender; libfabric's efa translates some.
  int device_error() { return errors().empty() ? 0 : errors().front().device_error; }

  static bool same(Station& from, Station& to, size_t length) {
    return std::equal(from.outbox().begin(), from.outbox().begin() + static_cast<ptrdiff_t>(length),
                      to.inbox().begin());
  }

  static constexpr uint64_t kHello = 0x7777;

  Rig rig;
  SharedDevice& from = *rig.nic(0, 0);
  SharedDevice& to = *rig.nic(0, 1);
  Station sender, receiver;
};

inline auto fabrics() { return testing::Values(std::string("efa"), std::string("efa-direct")); }
inline std::string fabric_name(const testing::TestParamInfo<std::string>& info) {
  return info.param == "efa" ? "efa" : "direct";
}

}  // namespace weft::emulation::efa
