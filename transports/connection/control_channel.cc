#include "transports/connection/control_channel.h"

#include <bit>
#include <cstring>

#include "weft/log.h"

namespace weft {
namespace {

/// The 1st, 2nd, 4th, 8th, ...: a flood of garbage must not become a flood of lines.
bool is_worth_a_line(std::uint64_t count) noexcept { return std::has_single_bit(count); }

}  // namespace

Result<std::unique_ptr<ControlChannel>> ControlChannel::open(Rail& rail, PeerTable& peers, Registry& registry,
                                                             TransportId transport) {
  const std::size_t limit = rail.info().get()->ep_attr->max_msg_size;
  if (limit < kMaxControlBytes) {
    return fail(Code::kUsage, "provider " + rail.info().provider() + " on " + rail.name() + " carries at most " +
                                  std::to_string(limit) + " bytes in a message; Weft needs " +
                                  std::to_string(kMaxControlBytes));
  }
  std::unique_ptr<ControlChannel> channel(new ControlChannel(rail, peers, registry, transport));
  constexpr std::size_t kArenaBytes = (kReceives + kSends) * kMaxControlBytes;
  channel->arena_ = std::make_unique<std::byte[]>(kArenaBytes);
  if (rail.domain().needs_local_registration()) {
    TRY(channel->memory_, fabric::MemoryRegion::open(
                              rail.domain(), {.data = channel->arena_.get(), .size = kArenaBytes}, FI_SEND | FI_RECV));
  }
  std::byte* data = channel->arena_.get();
  for (Slot& slot : channel->receives_) {
    slot.data = data;
    data += kMaxControlBytes;
    channel->note_unposted(slot);
  }
  for (Slot& slot : channel->sends_) {
    slot.data = data;
    slot.is_send = true;
    data += kMaxControlBytes;
    channel->free_sends_[channel->free_count_++] = &slot;
  }
  channel->catch_up();
  return channel;
}

void ControlChannel::post_receives() noexcept {
  while (unposted_count_ > 0) {
    Slot& slot = *unposted_[unposted_count_ - 1];
    const auto posted = rail_.endpoint().receive(slot.data, kMaxControlBytes, descriptor(), slot.operation);
    if (posted.status == PostStatus::kAgain) return;
    --unposted_count_;
    if (posted.status == PostStatus::kFailed) {
      WEFT_WARN(
          "posting a control receive failed on %s: error %d; one of %zu buffers is lost, and when all are, no "
          "new connection can be made",
          rail_.name().c_str(), posted.error, kReceives);
    }
  }
}

PostStatus ControlChannel::send_bytes(Peer& peer, std::span<const std::byte> bytes) noexcept {
  if (peer.failed()) return PostStatus::kFailed;
  if (free_count_ == 0 || peer.control_sends_ == kSendsPerPeer) return PostStatus::kAgain;
  Slot& slot = *free_sends_[free_count_ - 1];
  std::memcpy(slot.data, bytes.data(), bytes.size());
  const auto posted = rail_.endpoint().send(slot.data, bytes.size(), descriptor(), peer.address(), slot.operation);
  if (posted.status == PostStatus::kPosted) {
    --free_count_;
    slot.peer = &peer;
    ++peer.control_sends_;
    peers_.retain(peer);
    ++counters_.sent;
    return PostStatus::kPosted;
  }
  if (posted.status == PostStatus::kFailed) {
    ++counters_.undelivered;
    peers_.fail(peer, peers_.unreachable(peer, rail_, posted.error, ""));
  }
  return posted.status;
}

void ControlChannel::on_completion(fabric::Operation& operation, std::size_t received) noexcept {
  Slot& slot = *static_cast<Slot*>(operation.owner);
  if (slot.is_send) {
    finish_send(slot);
    return;
  }
  ++counters_.received;
  receive({slot.data, received});
  note_unposted(slot);
  catch_up();
}

void ControlChannel::check(Peer& peer, std::chrono::steady_clock::time_point now,
                           std::chrono::milliseconds interval) noexcept {
  PeerCheck& check = peer.check_;
  if (peer.failed() || now < check.next) return;
  check.next = now + interval;
  if (check.probe.running()) {
    int error = 0;
    const auto answer = check.probe.poll(error);
    if (answer == SocketProbe::Answer::kGone) {
      peers_.fail(peer, peers_.unreachable(peer, rail_, error, "nobody listens at its address any more"));
    }
    return;
  }
  // A message that arrives says enough, and where the provider reports errors, so does one that fails.
  if (peer.control_sends() == 0) {
    Notice alive{};
    alive.kind = NoticeKind::kAlive;
    alive.header = make_header(ControlType::kNotice, transport_, sizeof alive, 0);
    if (send(peer, alive) != PostStatus::kAgain) return;
  }
  // It has been refused, or an earlier one is stuck: a slow peer or a dead one.
  if (now < check.next_probe || !check.probe.start(peer.bytes_)) return;
  check.backoff = next_backoff(check.backoff, interval);
  check.next_probe = now + check.backoff;
}

void ControlChannel::send_last(Peer& peer, const Notice& notice) noexcept {
  if (send_farewell(peer, notice) != PostStatus::kAgain || held_count_ == held_.size()) return;
  peers_.retain(peer);
  held_[held_count_++] = {&peer, notice};
  behind_ = true;
}

PostStatus ControlChannel::send_farewell(Peer& peer, const Notice& notice) noexcept {
  const PostStatus status = send(peer, notice);
  // The slot it was sent from. A peer that has ended first is nothing to warn of; one that has died is found out by
  // those who still need it.
  if (status == PostStatus::kPosted) free_sends_[free_count_]->is_farewell = notice.kind == NoticeKind::kClosed;
  return status;
}

void ControlChannel::do_rest() noexcept {
  post_receives();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < held_count_; ++i) {
    const Held held = held_[i];
    if (send_farewell(*held.peer, held.notice) == PostStatus::kAgain) {
      held_[kept++] = held;
    } else {
      peers_.release(held.peer);
    }
  }
  held_count_ = kept;
  behind_ = unposted_count_ > 0 || held_count_ > 0;
}

void ControlChannel::finish_send(Slot& slot) noexcept {
  if (std::exchange(slot.is_refusal, false)) --refusals_;
  slot.is_farewell = false;
  --slot.peer->control_sends_;
  peers_.release(std::exchange(slot.peer, nullptr));
  free_sends_[free_count_++] = &slot;
}

void ControlChannel::on_error(const fabric::CompletionError& error) noexcept {
  Slot& slot = *static_cast<Slot*>(error.operation->owner);
  if (slot.is_send) {
    ++counters_.undelivered;
    if (!slot.is_farewell) {
      peers_.fail(*slot.peer, peers_.unreachable(*slot.peer, rail_, error.error, error.text));
    }
    finish_send(slot);
    return;
  }
  // A receive fails when a message does not fit (a stranger's: ours always do) or when the endpoint closes.
  if (error.error == FI_ETRUNC) count_refused("it is too long");
  // Posted again by the next catch_up(), not here: a receive that fails at once must not keep progress busy.
  if (error.error != FI_ECANCELED) note_unposted(slot);
}

void ControlChannel::receive(std::span<const std::byte> bytes) noexcept {
  // Reached from the data path, which cannot let an exception through; without memory the message is lost and its
  // sender runs into its time limit.
  try {
    const auto message = parse_control(bytes, transport_);
    if (!message) return count_refused(message.error());
    const bool expected = std::visit([this](const auto& each) { return dispatch(each); }, *message);
    if (!expected) ++counters_.refused;
  } catch (...) {
    count_refused("there is no memory to handle it");
  }
}

bool ControlChannel::dispatch(const ConnectRequest& request) {
  Addressable* listener = registry_.find(request.header.target);
  const Verdict verdict = listener != nullptr ? listener->on_connect_request(request) : Verdict::kUnknownListener;
  if (verdict == Verdict::kAccepted) return true;
  refuse(request, verdict);
  return false;
}

bool ControlChannel::dispatch(const ConnectReply& reply) {
  Addressable* connector = registry_.find(reply.header.target);
  if (connector != nullptr && connector->on_connect_reply(reply)) return true;
  // The attempt may have been given up meanwhile: not worth a line.
  return false;
}

bool ControlChannel::dispatch(const Notice& notice) {
  // One for a communicator that has just been closed is late, not wrong.
  Addressable* communicator = registry_.find(notice.header.target);
  return communicator == nullptr || communicator->on_notice(notice);
}

void ControlChannel::refuse(const ConnectRequest& request, Verdict verdict) {
  if (verdict == Verdict::kDuplicate) return;
  const auto address = std::span(request.address).first(request.address_size);
  if (is_worth_a_line(counters_.refused + 1)) {
    WEFT_WARN(
        "connection from %s refused on %s: %s (%llu refused so far). If this is not a peer of yours, somebody else on "
        "the "
        "network is trying to reach this process",
        rail_.addresses().text(address).c_str(), rail_.name().c_str(), verdict_text(verdict),
        static_cast<unsigned long long>(counters_.refused + 1));
  }
  // Best effort: an honest connector learns the reason at once, otherwise at its time limit.
  if (refusals_ == kRefusals) return;
  auto peer = peers_.acquire(address);
  if (!peer) return;
  ConnectReply reply{};
  reply.verdict = verdict;
  reply.header = make_header(ControlType::kConnectReply, transport_, wire_size(reply), request.connector);
  if (send(**peer, reply) == PostStatus::kPosted) {
    free_sends_[free_count_]->is_refusal = true;  // the slot it was sent from
    ++refusals_;
  }
  peers_.release(*peer);
}

void ControlChannel::count_refused(const char* reason) {
  ++counters_.refused;
  if (!is_worth_a_line(counters_.refused)) return;
  WEFT_WARN(
      "control message refused on %s: %s (%llu refused so far); every node must run the same Weft, and the NIC's "
      "network should be closed to strangers",
      rail_.name().c_str(), reason, static_cast<unsigned long long>(counters_.refused));
}

}  // namespace weft
