#include "transports/rdma/paths.h"

#include <algorithm>
#include <bit>

#include "transports/rdma/adapter.h"
#include "transports/rdma/efa_status.h"
#include "transports/rdma/stripes.h"
#include "weft/log.h"

namespace weft::rdma {
namespace {

/// Soon, because an operation may fail for a reason that does not last; a NIC that is down costs a write now and then.
constexpr std::chrono::milliseconds kFirstProbe{20};
constexpr std::chrono::seconds kLongestBackoff{30};
/// A path that fails again so soon after it came back is left out for twice as long as before: probes work on it, and
/// what it is for does not.
constexpr std::chrono::seconds kProbation{10};
/// How long the last of several paths may fail before the peer is lost, and how many probes of it in that time. Errors
/// that do not last can take out one path after the other sooner than probes bring them back; a peer that is gone fails
/// every probe.
constexpr std::chrono::milliseconds kLastChance{1000};
constexpr int kLastProbes = 3;
/// How long nobody may have waited for the peer. Much longer than it takes to be asked so often that probes are sent.
constexpr std::chrono::seconds kStale{5};

std::string cause_of(const fabric::CompletionError& error, const Rail& rail, bool is_efa) {
  const Judgement judgement = judge(error, is_efa);
  // The provider's words for a status that the table knows say less, at greater length.
  if (judgement.meaning != nullptr) {
    return std::string(judgement.meaning) + " (EFA status " + std::to_string(error.provider_error) + ")";
  }
  std::string cause = std::string(rail.library().strerror(error.error)) + " (" + std::to_string(error.error) + ")";
  if (error.text[0] != '\0') cause += std::string(", provider says: ") + error.text;
  return cause;
}

}  // namespace

Result<std::unique_ptr<Paths>> Paths::open(Adapter& adapter, Peer* peer, const Card& card) {
  std::unique_ptr<Paths> paths(new Paths(adapter, peer));
  const std::size_t ours = adapter.lanes().size();
  const std::size_t count = std::max<std::size_t>(ours, card.rails);
  paths->scratch_ = card.scratch;
  for (std::size_t i = 0; i < card.rails; ++i) paths->scratch_keys_[i] = card.rail[i].scratch_key;
  for (std::size_t i = 0; i < count; ++i) {
    Path& path = paths->paths_[i];
    path.local = static_cast<std::uint8_t>(i % ours);
    path.remote = static_cast<std::uint8_t>(i % card.rails);
    if (i == 0) {
      path.address = peer->address();
    } else {
      const auto address = std::span(card.rail[path.remote].address).first(card.address_size);
      TRY(path.address, adapter.lanes()[path.local].rail().addresses().insert(address));
    }
    paths->count_ = static_cast<std::uint8_t>(i + 1);
    paths->up_ |= static_cast<std::uint8_t>(1U << i);
  }
  return paths;
}

Paths::~Paths() {
  for (std::size_t i = 1; i < count_ && !adapter_.device().peers().closing(); ++i) {
    // Providers may give one number for one address, however often it is entered.
    if (!adapter_.shares(*this, paths_[i]))
      adapter_.lanes()[paths_[i].local].rail().addresses().remove(paths_[i].address);
  }
  adapter_.device().peers().release(peer_);
}

bool Paths::uses(std::uint8_t local, fi_addr_t address) const noexcept {
  return std::any_of(paths_.begin(), paths_.begin() + count_,
                     [&](const Path& path) { return path.local == local && path.address == address; });
}

void Paths::path_failed(std::size_t path, const fabric::CompletionError& error) noexcept {
  if (!is_up(path)) return;
  const Rail& rail = adapter_.lanes()[paths_[path].local].rail();
  // An operation that the provider does not even take has failed on this side, and would fail so again.
  const bool was_on_its_way = error.operation != nullptr;
  if (up_ == 1U << path && was_on_its_way && may_have_another_chance()) {
    const auto now = Clock::now();
    const bool is_first = !last_chance_;
    if (is_first || is_stale(now)) begin_last_chance();
    if (is_first) {
      WEFT_INFO(
          "the last rail %s to peer %s failed: %s. It and the others are tried for %lld ms before the peer is lost",
          rail.name().c_str(), peer_->name().c_str(), cause_of(error, rail, adapter_.is_efa()).c_str(),
          static_cast<long long>(kLastChance.count()));
    }
    // Only probes end it: operations of one moment tell one thing.
    const bool is_probe = error.operation->kind == fabric::OperationKind::kProbe;
    if (!is_probe || failed_probes_ < kLastProbes || now - *last_chance_ < kLastChance) return;
  }
  const std::string cause = cause_of(error, rail, adapter_.is_efa());
  take_out(path);
  if (up_ != 0) {
    const Health& health = health_[path];
    if (!health.told) return;
    const std::string often =
        health.failures > 1 ? ", " + std::to_string(health.failures) + " times in short order" : std::string();
    WEFT_WARN("rail %s to peer %s failed: %s%s. Going on over %d of %d rails; it is tried again from time to time",
              rail.name().c_str(), peer_->name().c_str(), cause.c_str(), often.c_str(), std::popcount(up_), count_);
    return;
  }
  lost({Code::kRemote, error.error,
        "peer " + peer_->name() + " cannot be reached any more" +
            (count_ > 1 ? " over any of " + std::to_string(count_) + " rails, last " : std::string(" from ")) +
            rail.name() + ": " + cause +
            ". Its process may have ended or its node may be gone: look at that host's log first; if it is alive, "
            "check security groups and routes between the two"});
}

bool Paths::may_have_another_chance() const noexcept { return count_ > 1 && adapter_.is_efa(); }

void Paths::begin_last_chance() noexcept {
  last_chance_ = last_tended_ = Clock::now();
  failed_probes_ = 0;
  for (Health& health : health_) health.next_probe = *last_chance_;
  settle();
}

bool Paths::is_stale(Clock::time_point now) const noexcept { return now - last_tended_ > kStale; }

void Paths::take_out(std::size_t path) noexcept {
  const auto now = Clock::now();
  Health& health = health_[path];
  last_chance_.reset();
  up_ &= static_cast<std::uint8_t>(~(1U << path));
  if (health.backoff == Clock::duration::zero() || now - health.returned > kProbation) {
    health.backoff = kFirstProbe;
    health.failures = 0;
  }
  // Ever more rarely: one that comes and goes would fill the log.
  health.told = std::has_single_bit(++health.failures);
  health.next_probe = now + health.backoff;
  settle();
}

void Paths::lost(Error error) noexcept {
  up_ = 0;
  settle();
  if (watchers_.empty()) return;
  if (!error.logged) WEFT_WARN("%s", error.what.c_str());
  error.logged = true;
  const auto watchers = watchers_;
  for (Addressable* watcher : watchers) watcher->on_peer_failed(error);
}

void Paths::lead_failed(const Error& error) noexcept {
  if (lead_silent_) return;
  lead_silent_ = true;
  // Where addresses are sockets, nobody listens any more: that is the process, not one of its NICs.
  const auto down = static_cast<std::uint8_t>(up_ & ~1U);
  if (up_ == 0 || !adapter_.is_efa() || (down == 0 && !may_have_another_chance())) {
    lost(error);
  } else if (down == 0) {
    if (!last_chance_ || is_stale(Clock::now()))
      begin_last_chance();  // probes tell whether it is more than this message
  } else if (is_up(0)) {
    take_out(0);
  }
}

bool Paths::probe(std::uint8_t path) noexcept {
  Health& health = health_[path];
  Lane& lane = adapter_.lanes()[paths_[path].local];
  if (health.probing) return false;
  fabric::Operation* operation = lane.take(fabric::OperationKind::kProbe, path, this);
  if (operation == nullptr) return false;
  const auto posted = lane.endpoint().write(adapter_.scratch(), sizeof(std::uint64_t),
                                            adapter_.scratch_descriptors()[paths_[path].local], paths_[path].address,
                                            scratch(path), *operation);
  if (posted.status != PostStatus::kPosted) {
    lane.give(*operation);
    if (posted.status == PostStatus::kFailed && is_up(path)) path_failed(path, {.error = posted.error});
    return false;
  }
  health.probing = true;
  ++probes_;
  return true;
}

void Paths::probe_done(std::uint8_t path) noexcept {
  --probes_;
  health_[path].probing = false;
  if (is_up(path)) last_chance_.reset();
  settle();
  if (is_up(path) || up_ == 0) return;  // once lost, a peer stays lost: its communicators have failed
  up_ |= static_cast<std::uint8_t>(1U << path);
  health_[path].returned = Clock::now();
  settle();
  if (health_[path].told)
    WEFT_WARN("rail %s to peer %s works again: %d of %d rails",
              adapter_.lanes()[paths_[path].local].rail().name().c_str(), peer_->name().c_str(), std::popcount(up_),
              count_);
}

void Paths::probe_failed(std::uint8_t path, const fabric::CompletionError& error) noexcept {
  --probes_;
  health_[path].probing = false;
  if (!is_up(path) || judge(error, adapter_.is_efa()).blame == Blame::kRetry) return;
  if (last_chance_) ++failed_probes_;
  path_failed(path, error);
}

void Paths::tend(Clock::time_point now) noexcept {
  last_tended_ = now;
  for (std::uint8_t path = 0; path < count_ && up_ != 0; ++path) {
    Health& health = health_[path];
    const bool is_suspect = !is_up(path) || last_chance_;
    if (!is_suspect || health.probing || now < health.next_probe) continue;
    health.backoff =
        last_chance_ ? kFirstProbe : std::clamp<Clock::duration>(health.backoff * 2, kFirstProbe, kLongestBackoff);
    health.next_probe = now + health.backoff;
    probe(path);
  }
}

void Paths::look(Clock::time_point now) noexcept {
  tend(now);
  const auto interval = adapter_.device().options().peer_check;
  if (!lead_silent_ && is_up(0)) {
    adapter_.device().control().check(*peer_, now, interval);
    return;
  }
  if (up_ == 0 || now - last_look_ < interval) return;
  last_look_ = now;
  last_look_path_ = pick(last_look_path_);
  probe(last_look_path_);
}

}  // namespace weft::rdma
