#include "tests/emulation/efa/wire.h"

#include <algorithm>

#include "tests/emulation/efa/delivery.h"
#include "tests/emulation/efa/peers.h"
#include "tests/emulation/efa/queue_pair.h"
#include "tests/emulation/efa/random.h"
#include "tests/emulation/efa/schedule.h"

namespace weft::emulation::efa {
namespace {

constexpr uint32_t kForever = 7;  // of receiver-not-ready retries
// Guess: how long a NIC waits before it tries a receiver again.
constexpr uint32_t kFirstBackoffUs = 10, kLastBackoffUs = 1000;
constexpr int kAtOnce = 64;  // what one poll executes at most

void execute(Operation operation) {
  const CompletionStatus status = deliver(operation);
  QueuePair& pair = *operation.pair;
  if (status == CompletionStatus::kRemoteNotReady) {
    pair.nic().counters.not_ready++;
    if (operation.retries_left != 0) {
      if (operation.retries_left != kForever) --operation.retries_left;
      operation.backoff_us =
          operation.backoff_us == 0 ? kFirstBackoffUs : std::min(operation.backoff_us * 2, kLastBackoffUs);
      operation.due_ns = now_ns() + operation.backoff_us * 1000ull;
      schedule().add(operation);
      return;
    }
  }
  pair.complete(operation, status);
}

// Takes a link for a while, after those before. Returns when it is free again.
uint64_t take_link(std::atomic<uint64_t>& free_ns, uint64_t now, uint64_t duration) {
  uint64_t free = free_ns.load();
  uint64_t end;
  do {
    end = std::max(free, now) + duration;
  } while (!free_ns.compare_exchange_weak(free, end));
  return end;
}

uint64_t link_time_ns(uint32_t bytes, uint64_t mbps) { return mbps != 0 ? bytes * 8000ull / mbps : 0; }

// Faults that end a work request where it is posted.
bool ends_at_once(const Operation& operation) {
  QueuePair& pair = *operation.pair;
  Knobs& knobs = pair.nic().knobs;
  if (uint64_t left = knobs.fail_after; left != 0) {
    if (knobs.fail_after.compare_exchange_strong(left, left - 1) && left == 1)
      knobs.fail_status = static_cast<uint64_t>(CompletionStatus::kUnresponsiveRemote);
  }
  if (knobs.blackhole != 0) {
    pair.nic().counters.swallowed++;
    return true;
  }
  if (knobs.fail_qpn == pair.number()) {
    knobs.fail_qpn = 0;
    pair.break_down();
  }
  if (const uint64_t status = knobs.fail_status; status != 0) {
    if (knobs.fail_qps != 0) pair.break_down();
    pair.complete(operation, static_cast<CompletionStatus>(status));
    return true;
  }
  if (happens(knobs.error_ppm)) {
    pair.complete(operation, static_cast<CompletionStatus>(knobs.error_status.load()));
    return true;
  }
  return false;
}

// When the work request is due; 0: at once.
uint64_t due_ns(const Operation& operation) {
  SharedDevice& own = operation.pair->nic();
  const Knobs& knobs = own.knobs;
  SharedDevice* target = peer_device(operation.gid);
  const uint64_t latency = knobs.latency_us, jitter = knobs.jitter_us, send_cap = knobs.bandwidth_mbps;
  const uint64_t receive_cap = target != nullptr ? target->knobs.bandwidth_mbps.load() : 0;
  if (latency == 0 && jitter == 0 && send_cap == 0 && receive_cap == 0 && knobs.defer == 0) return 0;
  const uint64_t now = now_ns();
  uint64_t due = now;
  if (send_cap != 0) {
    const uint64_t taken = link_time_ns(operation.length, send_cap);
    own.counters.link_ns += taken;
    due = std::max(due, take_link(own.send_link_free_ns, now, taken));
  }
  if (receive_cap != 0)
    due = std::max(due, take_link(target->receive_link_free_ns, now, link_time_ns(operation.length, receive_cap)));
  due += latency * 1000 + random_below(jitter * 1000 + 1);
  own.counters.delay_ns += due - now;
  return due;
}

}  // namespace

void wire_post(const Operation& posted) {
  if (ends_at_once(posted)) return;
  Operation operation = posted;
  QueuePair& pair = *operation.pair;
  operation.retries_left = pair.retries();
  operation.due_ns = due_ns(operation);
  const Knobs& knobs = pair.nic().knobs;
  if (const uint64_t size = knobs.reorder; size != 0) {
    if (const auto out = schedule().add_to_window(operation, size, knobs.reorder_hold_us * 1000)) {
      execute(*out);
      Schedule::done(*out);
    }
  } else if (operation.due_ns != 0) {
    schedule().add(operation);
  } else {
    pair.wire().executing++;
    execute(operation);
    Schedule::done(operation);
  }
}

void wire_progress() {
  for (int i = 0; i < kAtOnce; ++i) {
    const uint64_t next = schedule().next_ns();
    // No look at the clock while nothing is deferred: a NIC's empty queue costs its reader nothing like that.
    if (next == Schedule::kNever || next > now_ns()) return;
    const auto operation = schedule().take_due();
    if (!operation) return;
    execute(*operation);
    Schedule::done(*operation);
  }
}

void wire_forget(QueuePair& pair) { schedule().forget(pair); }

}  // namespace weft::emulation::efa
