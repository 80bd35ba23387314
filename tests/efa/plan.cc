#include "tests/efa/plan.h"

#include <array>
#include <initializer_list>

namespace weft::soak {
namespace {

/// What an immediate can tell apart (transports/rdma/immediate.h): a run goes round several times.
constexpr std::size_t kSequenceSpace = 128;
constexpr std::size_t kRounds = 4;

template <class T>
T one_of(Random& random, std::initializer_list<T> values) {
  return values.begin()[random.below(values.size())];
}

void add(std::string& list, const char* knob, std::uint64_t value) {
  if (value == 0) return;
  if (!list.empty()) list += ',';
  list += knob + ("=" + std::to_string(value));
}

}  // namespace

SoakPlan SoakPlan::of(std::uint64_t seed) {
  Random random(seed);
  SoakPlan plan;
  plan.seed = seed;
  plan.rails = one_of<std::size_t>(random, {1, 2, 4, 4, 8});
  plan.queue = one_of<std::size_t>(random, {0, 0, 512, 96, 80});
  add(plan.knobs, "reorder", one_of<std::uint64_t>(random, {64, 64, 64, 16, 4, 0}));
  add(plan.knobs, "reorder_hold_us", one_of<std::uint64_t>(random, {20, 50, 100, 200}));
  add(plan.knobs, "latency_us", random.chance(0.5) ? random.below(40) : 0);
  add(plan.knobs, "jitter_us", random.chance(0.6) ? random.below(100) : 0);
  add(plan.knobs, "shuffle", random.below(2));
  add(plan.knobs, "defer", random.below(2));
  add(plan.knobs, "rnr_ppm", random.chance(0.5) ? 1 + random.below(30'000) : 0);
  // What may go wrong: an error that takes a rail out, one that does not, a NIC that is away for a while, nothing.
  const std::uint64_t trouble = random.below(5);
  if (trouble <= 1 && plan.rails >= 4) {
    add(plan.errors, "error_ppm", 200 + random.below(1000));
    add(plan.errors, "error_status", one_of<std::uint64_t>(random, {1, 8, 9, 12, 13, 14}));
  } else if (trouble == 2) {
    // One such error costs the connection twenty times the time of a message.
    add(plan.errors, "error_ppm", 200 + random.below(3000));
    add(plan.errors, "error_status", 10);
  } else if (trouble == 3 && plan.rails >= 2) {
    plan.nic_fails = 1 + random.below(100'000);
    plan.nic_returns = 1 + random.below(300'000);
  } else {
    plan.lives = 1 + random.below(3);
  }
  // A look for the peer is a control message, and an error of one of those is final on the only rail.
  plan.peer_check_ms = plan.errors.empty() ? one_of<std::size_t>(random, {10, 100, 1000}) : 60'000;
  const std::size_t streams = 1 + random.below(5);
  for (std::size_t i = 0; i < streams; ++i) {
    StreamPlan stream;
    stream.groups = i == 0 ? kRounds * kSequenceSpace + 1 + random.below(100) : 40 + random.below(150);
    stream.max_group = 1 + random.below(bench::kMaxSubReceives);
    stream.tags = 1 + random.below(20);
    stream.max_bytes = one_of<std::size_t>(random, {1000, 300'000, std::size_t{2} << 20});
    // On one rail a receive is given back early, and nobody is left to answer what its sender asks; there is nothing to
    // ask on EFA, where a write needs no posted receive and so cannot find none.
    const bool asks = plan.rails == 1 && !plan.errors.empty();
    stream.optional = random.chance(0.5) && !asks ? 0.4 : 0;
    stream.left_open = random.chance(0.5) ? random.below(20) : 0;
    plan.streams.push_back({random.chance(0.5), stream});
  }
  return plan;
}

std::vector<std::string> SoakPlan::environment() const {
  std::vector<std::string> all = {"WEFT_LAB_EFA_NICS=" + std::to_string(2 * rails),
                                  "WEFT_LAB_EFA_KNOBS=" + knobs,
                                  "WEFT_LAB_EFA_SEED=" + std::to_string(seed + 1),
                                  "WEFT_RAILS=" + std::to_string(rails),
                                  "WEFT_PEER_CHECK_MS=" + std::to_string(peer_check_ms),
                                  "WEFT_PROTOCOL=rdma",
                                  "WEFT_PROVIDER=efa"};
  if (queue != 0) all.push_back("WEFT_LAB_EFA_MAX_SQ=" + std::to_string(queue));
  return all;
}

std::string SoakPlan::text() const {
  std::string line = std::to_string(streams.size()) + " connections, " + std::to_string(rails) + " rails, " + knobs;
  if (queue != 0) line += ", send queues of " + std::to_string(queue);
  if (!errors.empty()) line += ", then " + errors;
  if (nic_fails != 0) line += ", a NIC fails and returns";
  if (lives > 1) line += ", connected " + std::to_string(lives) + " times";
  return line;
}

}  // namespace weft::soak
