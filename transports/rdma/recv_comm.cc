#include "transports/rdma/recv_comm.h"

#include <algorithm>
#include <atomic>
#include <bit>

#include "transports/connection/gpu_flush.h"
#include "transports/rdma/efa_status.h"

namespace weft::rdma {

PostStatus RecvComm::receive(int count, void* const* data, const std::size_t* sizes, const int* tags,
                             void* const* memory, bool optional_completion, Request*& out) noexcept {
  const SpinGuard guard(device().lock());
  if (failed()) [[unlikely]]
    return PostStatus::kFailed;
  RecvRequest* request = requests_.next();
  const auto buffers = static_cast<std::uint8_t>(count);
  // A permission must not be overwritten before the sender has seen it. Its data shows that, an early message does not.
  if (request == nullptr || !is_used(request->sequence) || !adapter().grant(buffers)) [[unlikely]]
    return not_now();

  request->sequence = next_++;
  request->count = buffers;
  request->open = {.remaining = buffers, .unwritten = true};
  request->attempts = 0;
  request->optional = false;
  request->deregistrations = device().deregistrations();
  for (std::uint8_t i = 0; i < buffers; ++i) {
    request->subs[i] = {.awaits = awaited(request->sequence, i, 0), .data = static_cast<std::byte*>(data[i])};
    const auto* handle = memory != nullptr ? static_cast<const MemoryHandle*>(memory[i]) : nullptr;
    fill_entry(*request, i, data[i], sizes[i], tags[i], handle);
  }
  if (optional_completion) [[unlikely]]
    make_optional(*request);
  request->state = RequestState::kPending;
  requests_.commit();
  operation_posted(buffers);
  if (early_waits_) [[unlikely]]
    take_waiting();
  adapter().hold_back(*request);
  out = request;
  return PostStatus::kPosted;
}

void RecvComm::fill_entry(RecvRequest& request, std::uint8_t sub, void* data, std::size_t size, int tag,
                          const MemoryHandle* memory) noexcept {
  ClearToSend& entry = block().entries[slot_of(request.sequence)][sub];
  entry.sequence = request.sequence;
  entry.count = request.count;
  entry.generation = 0;
  entry.state = EntryState::kOpen;
  entry.tag = tag;
  entry.cookie = cookie_;
  if (memory != nullptr && size > 0) [[likely]] {
    entry.size = static_cast<std::uint32_t>(size);
    entry.address = reinterpret_cast<std::uintptr_t>(data) - memory->remote_origin;
    entry.keys = memory->rails->keys;
    if (memory->pointer_kind == kPointerHost) [[likely]]
      request.subs[sub].early_limit = static_cast<std::uint16_t>(std::min(size, kMaxEarlyBytes) + 1);
    static_assert(static_cast<std::uint8_t>(kPointerHost << 7) == kTakesEarly &&
                  static_cast<std::uint8_t>(kPointerCuda << 7) == 0);
    entry.early = static_cast<std::uint8_t>(memory->pointer_kind << 7 | early_count_);
  } else {
    // An empty message must be written somewhere, too.
    entry.size = 0;
    entry.address = adapter().scratch_address();
    entry.keys = adapter().scratch_keys();
    entry.early = kTakesEarly | early_count_;
    request.subs[sub].early_limit = 1;
  }
  entry.seal = entry.right_seal();
}

/// It may be given back before its data has come, and then nobody copies an early message. And its reader may look at
/// the data itself while it comes (NCCL's LL protocols), in an order that a copy does not keep.
void RecvComm::make_optional(RecvRequest& request) noexcept {
  request.optional = gives_back_;
  for (std::uint8_t i = 0; i < request.count; ++i) {
    ClearToSend& entry = block().entries[slot_of(request.sequence)][i];
    entry.early = early_count_;
    entry.seal = entry.right_seal();
    request.subs[i].early_limit = 0;
  }
}

void RecvComm::take_waiting() noexcept {
  early_waits_ = false;
  take_early(waiting_);
}

void RecvComm::write_held(RecvRequest& request) noexcept {
  if (!failed()) [[likely]]
    write(request);
}

/// Writes the receive's entries into the peer's mailbox. All of them, even when few are new: it does no harm.
void RecvComm::write(RecvRequest& request) noexcept {
  if (!request.open.unwritten || paths().up() == 0) [[unlikely]]
    return;
  const std::uint8_t index = last_path_ = paths().pick(last_path_);
  const Path& path = paths()[index];
  Lane& lane = this->lane(path);
  fabric::Operation* operation = lane.take(fabric::OperationKind::kReceive, index, &request);
  if (operation == nullptr) [[unlikely]]
    return;
  const auto& entries = block().entries[slot_of(request.sequence)];
  const auto posted = lane.endpoint().write(
      &entries, request.count * sizeof entries[0], descriptor(path), path.address,
      {mailbox_ + slot_of(request.sequence) * sizeof entries, mailbox_keys_[path.remote]}, *operation);
  if (posted.status != PostStatus::kPosted) [[unlikely]] {
    lane.give(*operation);
    if (posted.status == PostStatus::kFailed) write_failed(request, index, {.error = posted.error});
    return;
  }
  request.open.unwritten = false;
  ++request.open.in_flight;
  ++writes_;
}

/// What a stripe of a buffer's message looks like.
std::uint32_t RecvComm::awaited(std::uint32_t sequence, std::uint8_t sub, std::uint8_t generation) const noexcept {
  const auto low = static_cast<std::uint8_t>(sequence & kSequenceMask);
  return Immediate::message(Immediate{number_, low, sub, generation, 0}.bits());
}

bool RecvComm::arrived(std::uint32_t immediate, std::size_t bytes) noexcept {
  const Immediate what = Immediate::from(immediate);
  RecvRequest& request = requests_.slots()[slot_of(what.sequence)];
  RecvRequest::Sub& sub = request.subs[what.sub];
  const StripeBits bits = kStripeOfCode[what.code];
  const auto arrived = static_cast<std::uint8_t>(sub.arrived | bits.stripe);
  if (sub.awaits != Immediate::message(immediate) || arrived == sub.arrived) [[unlikely]]
    return what.code == kAskCode ? asked(request, what) : what.code == kEarlyCode && early_arrived(what, bytes);
  paths().confirm();  // it could write, so it knows our rails
  sub.arrived = arrived;
  sub.received += bytes;
  if (arrived != bits.all) return true;
  if (!adapter().reports_sizes()) [[unlikely]]
    sub.received = block().sizes[slot_of(request.sequence)][what.sub];
  was_used(request.sequence);
  filled(request, sub);
  return true;
}

/// A buffer has its message.
void RecvComm::filled(RecvRequest& request, RecvRequest::Sub& sub) noexcept {
  sub.awaits = RecvRequest::Sub::kNothing;
  sub.done = true;
  adapter().settle(1);
  operation_ended();
  if (--request.open.remaining > 0) return;
  // From here on the peer may learn by itself that it is done, and NCCL has the buffers when nothing else is open.
  std::atomic_ref(block().done[slot_of(request.sequence)]).store(request.sequence, std::memory_order_release);
  finish_if_done(request);
}

void RecvComm::finish_if_done(RecvRequest& request) noexcept {
  if (request.open.any()) return;
  request.state = request.state == RequestState::kDetached ? RequestState::kFree : RequestState::kDone;
}

void RecvComm::complete(RecvRequest& request) noexcept {
  auto& comm = static_cast<RecvComm&>(*request.comm);
  --comm.writes_;
  --request.open.in_flight;
  comm.finish_if_done(request);
}

RecvComm::RecvComm(Adapter& adapter, Peer* peer, Paths* paths, BlockRef block, Key sender, const Card& card)
    : Connection(adapter, peer, paths, block),
      cookie_(card.cookie),
      mailbox_(card.block),
      gives_back_(this->paths().count() == 1),
      takes_early_(adapter.open_to_early()),
      requests_(*this) {
  set_remote(sender);
  for (std::size_t i = 0; i < card.rails; ++i) mailbox_keys_[i] = card.rail[i].block_key;
  // Number 1 comes first, and its slot is not the ring's first.
  static_assert(slot_of(1) == 1);
  requests_.commit();
}

RecvComm::~RecvComm() {
  retire();
  adapter().settle(in_flight());
  if (takes_early_) adapter().closed_to_early();
}

void RecvComm::retire() noexcept {
  if (!retired_) adapter().remove(number_);
  retired_ = true;
  adapter().forget_held(*this);
}

void RecvComm::failed(RecvRequest& request, std::uint8_t path, const fabric::CompletionError& error) noexcept {
  auto& comm = static_cast<RecvComm&>(*request.comm);
  --comm.writes_;
  --request.open.in_flight;
  if (comm.left()) return;
  const Blame blame = judge(error, comm.adapter().is_efa()).blame;
  if (blame == Blame::kMessage) return comm.operation_failed(error, {0, request.sequence, sizeof(ClearToSend)});
  if (blame == Blame::kPath) return comm.write_failed(request, path, error);
  write_later(request);
}

void RecvComm::write_failed(RecvRequest& request, std::uint8_t path, const fabric::CompletionError& error) noexcept {
  if (++request.attempts == kMostAttempts) return message_failed(error, {0, request.sequence, sizeof(ClearToSend)});
  paths().path_failed(path, error);
  write_later(request);
}

void RecvComm::write_later(RecvRequest& request) noexcept {
  // It may have arrived all the same, or may still: neither the slot nor the buffers can be used again before that is
  // over. Then all entries of the receive are written again, which does no harm.
  request.open.unwritten = true;
  request.open.draining = true;
  request.drained = Clock::now() + kDrain;
}

/// True when nothing of a write that failed can arrive any more.
bool RecvComm::has_drained(RecvRequest& request) noexcept {
  if (!request.open.draining) [[likely]]
    return true;
  if (request.open.in_flight > 0 || Clock::now() < request.drained) return false;
  request.open.draining = false;
  return true;
}

void RecvComm::catch_up(RecvRequest& request) noexcept {
  if (request.open.draining) [[unlikely]] {
    if (!has_drained(request)) return;
    // What has been filled by the permission shows that it arrived. Of an early message's the sender must still learn.
    const auto is_early = [](const RecvRequest::Sub& sub) { return sub.early; };
    if (request.open.remaining == 0 &&
        std::ranges::none_of(request.subs.begin(), request.subs.begin() + request.count, is_early)) {
      request.open.unwritten = false;
      return finish_if_done(request);
    }
  }
  if (request.open.unwritten && request.open.in_flight == 0 && !failed()) [[unlikely]]
    write(request);
}

/// The sender does not know whether its message has come. It asks only after nothing of it can arrive any more, so
/// what has not come by now has to be sent anew: under the next generation, so that the two cannot be mixed up.
bool RecvComm::asked(RecvRequest& request, const Immediate& what) noexcept {
  const bool open = request.state == RequestState::kPending || request.state == RequestState::kDetached;
  if (!open || (request.sequence & kSequenceMask) != what.sequence || what.sub >= request.count) return false;
  auto& sub = request.subs[what.sub];
  ClearToSend& entry = block().entries[slot_of(request.sequence)][what.sub];
  if (request.open.in_flight > 0 || !has_drained(request)) return true;  // it will ask again
  if (sub.done) {
    entry.state = EntryState::kDone;
  } else if ((sub.generation & 1) == what.generation) {
    ++sub.generation;
    sub.awaits = awaited(request.sequence, what.sub, sub.generation);
    sub.arrived = 0;
    sub.received = 0;
    entry.generation = sub.generation;
  }
  entry.seal = entry.right_seal();
  request.open.unwritten = true;
  write(request);
  return true;
}

PostStatus RecvComm::flush(int count, const int* sizes, void* const* memory, Request*& out) noexcept {
  out = nullptr;
  const Status flushed = flush_gpu_writes(device().options().cuda, count, sizes, memory);
  if (flushed) return PostStatus::kPosted;
  const SpinGuard guard(device().lock());
  fail(flushed.error());
  return PostStatus::kFailed;
}

bool RecvComm::on_notice(const Notice& notice) {
  if (notice.kind != NoticeKind::kTruncated) return Comm::on_notice(notice);
  fail({Code::kTruncated, FI_ETRUNC,
        "message from " + peer().name() + " (tag " + std::to_string(notice.tag) + ", sequence " +
            std::to_string(notice.sequence) + ") of " + std::to_string(notice.sent_bytes) +
            " bytes is longer than the " + std::to_string(notice.posted_bytes) + " bytes of its receive on " +
            device().name() + ". The ranks disagree about a size: compare the arguments of the collective on both"});
  return true;
}

PostStatus RecvComm::not_now() noexcept {
  adapter().progress();
  // Nobody tests a receive that has been given back; one whose answer to the sender failed, or found no room, would
  // keep its slot.
  for (RecvRequest& request : requests_.slots()) {
    if (request.state == RequestState::kDetached && (request.open.draining || request.open.unwritten)) [[unlikely]]
      catch_up(request);
  }
  waited();
  return failed() ? PostStatus::kFailed : PostStatus::kAgain;
}

std::string RecvComm::waits_for() const { return std::to_string(in_flight()) + " receives"; }

}  // namespace weft::rdma
