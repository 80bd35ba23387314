#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace weft::emulation::efa {

// The faults of one NIC. They lie in shared memory, and every work request reads them afresh: whoever writes one, a
// test or weft-efactl, changes a running rig. All are zero at first but for those with a default.
struct Knobs {
  std::atomic<uint64_t> latency_us;
  std::atomic<uint64_t> jitter_us;
  std::atomic<uint64_t> reorder;
  std::atomic<uint64_t> reorder_hold_us;
  std::atomic<uint64_t> bandwidth_mbps;
  std::atomic<uint64_t> shuffle;
  std::atomic<uint64_t> defer;
  std::atomic<uint64_t> fail_status;
  std::atomic<uint64_t> fail_after;
  std::atomic<uint64_t> fail_qps;
  std::atomic<uint64_t> fail_qpn;
  std::atomic<uint64_t> blackhole;
  std::atomic<uint64_t> error_ppm;
  std::atomic<uint64_t> error_status;
  std::atomic<uint64_t> rnr_ppm;
};

struct KnobName {
  std::string_view name;
  std::atomic<uint64_t> Knobs::* field;
  uint64_t initial;
  const char* meaning;
};

inline constexpr KnobName kKnobs[] = {
    {"latency_us", &Knobs::latency_us, 0, "delay of each work request of this NIC"},
    {"jitter_us", &Knobs::jitter_us, 0, "and a random one of 0 to n more, which reorders"},
    {"reorder", &Knobs::reorder, 0, "hold n work requests per queue pair and release them in random order"},
    {"reorder_hold_us", &Knobs::reorder_hold_us, 100, "how long an unfilled window is held"},
    {"bandwidth_mbps", &Knobs::bandwidth_mbps, 0, "cap of the NIC in each direction, in Mbit/s; 0: none"},
    {"shuffle", &Knobs::shuffle, 0, "1: write the packets of one RDMA write in random order"},
    {"defer", &Knobs::defer, 0, "1: nothing completes inside the call that posts it"},
    {"fail_status", &Knobs::fail_status, 0,
     "the NIC is down: its work requests end with this status, those of its peers with 13"},
    {"fail_after", &Knobs::fail_after, 0, "fail_status becomes 13 after n more work requests"},
    {"fail_qps", &Knobs::fail_qps, 0, "1: with fail_status, its queue pairs break as well and stay so"},
    {"fail_qpn", &Knobs::fail_qpn, 0, "break the queue pair with this number at its next work request"},
    {"blackhole", &Knobs::blackhole, 0, "1: work requests of this NIC vanish, without a completion"},
    {"error_ppm", &Knobs::error_ppm, 0, "of a million work requests, how many end with error_status"},
    {"error_status", &Knobs::error_status, 13, "see error_ppm"},
    {"rnr_ppm", &Knobs::rnr_ppm, 0, "of a million messages to this NIC, how many find no receive posted"},
};

// What a NIC did.
struct Counters {
  std::atomic<uint64_t> sends;
  std::atomic<uint64_t> reads;
  std::atomic<uint64_t> writes;
  std::atomic<uint64_t> bytes;
  std::atomic<uint64_t> arrivals;
  std::atomic<uint64_t> unsolicited;
  std::atomic<uint64_t> errors;
  std::atomic<uint64_t> not_ready;
  std::atomic<uint64_t> reordered;
  std::atomic<uint64_t> shuffled;
  std::atomic<uint64_t> deferred;
  std::atomic<uint64_t> swallowed;
  std::atomic<uint64_t> delay_ns;
  std::atomic<uint64_t> link_ns;
  std::atomic<uint64_t> overruns;
};

struct CounterName {
  std::string_view name;
  std::atomic<uint64_t> Counters::* field;
  const char* meaning;
};

inline constexpr CounterName kCounters[] = {
    {"sends", &Counters::sends, "messages sent"},
    {"reads", &Counters::reads, "RDMA reads made"},
    {"writes", &Counters::writes, "RDMA writes made"},
    {"bytes", &Counters::bytes, "bytes of all three"},
    {"arrivals", &Counters::arrivals, "messages and immediates that arrived"},
    {"unsolicited", &Counters::unsolicited, "immediates that took no posted receive"},
    {"errors", &Counters::errors, "work requests that ended with an error"},
    {"not_ready", &Counters::not_ready, "work requests that found no receive posted"},
    {"reordered", &Counters::reordered, "work requests that overtook an older one"},
    {"shuffled", &Counters::shuffled, "RDMA writes whose packets landed in random order"},
    {"deferred", &Counters::deferred, "work requests executed later than they were posted"},
    {"swallowed", &Counters::swallowed, "work requests that vanished"},
    {"delay_ns", &Counters::delay_ns, "time by which work requests were scheduled later"},
    {"link_ns", &Counters::link_ns, "time that the capped link was taken, sending"},
    {"overruns", &Counters::overruns, "completions lost because the queue was full"},
};

}  // namespace weft::emulation::efa
