// Messages that go out before their permission: how they are sent, and how the receiver finds their buffers. Why both
// ends find the same buffer is in PROTOCOL.md.
#include <cstring>

#include "transports/rdma/recv_comm.h"
#include "transports/rdma/send_comm.h"

namespace weft::rdma {

bool SendComm::may_go_early(std::size_t size, const MemoryHandle* memory) noexcept {
  // The receive before this one shows what the receiver does with early messages.
  const ClearToSend& last = block().entries[slot_of(next_ - 1)][0];
  if (!peer_takes_early_ || peer_closed() || early_ != nullptr || used_ != 0 || size > kMaxEarlyBytes ||
      paths().up() == 0)
    return false;
  if (requests_.next() == nullptr) return false;
  if (!is_complete(last, next_ - 1, cookie_) || (last.early & kTakesEarly) == 0) return false;
  // Something is permitted, only not this tag.
  if (is_complete(block().entries[slot_of(next_)][0], next_, cookie_)) return false;
  if (((early_sent_ - last.early) & kEarlyCountMask) >= kEarlySlots) return false;
  return size == 0 || memory->pointer_kind == kPointerHost;
}

PostStatus SendComm::send_early(const void* data, std::size_t size, int tag, const MemoryHandle* memory,
                                Request*& out) noexcept {
  const std::uint8_t index = last_path_ = paths().pick(last_path_);
  const Path& path = paths()[index];
  Lane& lane = this->lane(path);
  SendRequest* request = requests_.next();
  fabric::Operation* operation = lane.take(fabric::OperationKind::kSend, index, request);
  if (operation == nullptr) return not_now();

  const std::uint32_t slot = early_sent_ % kEarlySlots;
  EarlyMessage& message = block().early[slot];
  message.header = {.number = early_sent_,
                    .sequence = next_,
                    .tag = tag,
                    .size = static_cast<std::uint32_t>(size),
                    .cookie = cookie_,
                    .reserved = 0};
  if (size > 0) std::memcpy(message.data, data, size);
  const std::size_t offset = offsetof(Block, early) + slot * sizeof message;
  const Immediate what{receiver_, static_cast<std::uint8_t>(next_ & kSequenceMask), static_cast<std::uint8_t>(slot), 0,
                       kEarlyCode};
  const auto posted =
      lane.endpoint().write_data(&message, EarlyMessage::bytes(size), descriptor(path), path.address,
                                 {remote_block_ + offset, remote_keys_[path.remote]}, what.bits(), *operation);
  if (posted.status != PostStatus::kPosted) {
    lane.give(*operation);
    if (posted.status == PostStatus::kFailed) paths().path_failed(index, {.error = posted.error});
    return not_now();
  }

  request->data = static_cast<const std::byte*>(data);
  request->size = size;
  request->memory = memory;
  request->sequence = next_;
  request->sub = 0;
  request->generation = 0;
  request->attempts = 0;
  request->in_doubt = false;
  request->early = true;
  request->dropped = false;
  request->plan.count = request->posted = request->in_flight = 1;
  request->state = RequestState::kPending;
  requests_.commit();
  operation_posted();
  early_ = request;
  early_tag_ = tag;
  ++early_sent_;
  adapter().write_held();
  out = request;
  return failed() ? PostStatus::kFailed : PostStatus::kPosted;
}

/// Whether all permissions of the receive whose turn it is are here.
bool SendComm::is_posted() const noexcept {
  const auto& entries = block().entries[slot_of(next_)];
  for (std::uint8_t i = 0; i < kMaxGroup && is_complete(entries[i], next_, cookie_); ++i) {
    if (i + 1 >= entries[i].count) return true;
  }
  return false;
}

/// Looks which buffer the early message is for; before any later message takes one. False: not known yet. Then, if it
/// has been dropped, messages of other tags may go first.
bool SendComm::place_early() noexcept {
  SendRequest& request = *early_;
  std::uint8_t sub = 0;
  // First: what comes while find() looks must not pass for a receive without that tag.
  const bool posted = is_posted();
  const ClearToSend* entry = find(early_tag_, sub);
  if (entry == nullptr) {
    if (posted) request.dropped = true;
    return false;
  }
  if ((entry->early & kTakesEarly) == 0) request.dropped = true;
  early_ = nullptr;
  request.sequence = next_;
  request.sub = sub;
  if (request.size > entry->size) {
    too_long(request.size, early_tag_, *entry);
    return true;
  }
  use(*entry, sub);
  return true;
}

/// Ends an early message whose write has ended, once its buffer is known.
void SendComm::settle_early(SendRequest& request) noexcept {
  if ((early_ == &request && !place_early()) || failed()) return;
  request.early = false;
  if (request.dropped) {
    request.in_doubt = false;
    request.posted = 0;
    plan(request);
    post_rest(request);
  } else if (!request.in_doubt) {  // if it is, the inquiry goes on from here
    request.state = RequestState::kDone;
  }
}

namespace {

/// Read once: the peer may write there at any time.
EarlyHeader copy_of(const EarlyHeader& header) noexcept {
  const volatile EarlyHeader& from = header;
  return {.number = from.number,
          .sequence = from.sequence,
          .tag = from.tag,
          .size = from.size,
          .cookie = from.cookie,
          .reserved = 0};
}

}  // namespace

bool RecvComm::early_arrived(const Immediate& what, std::size_t bytes) noexcept {
  // Only while nobody gives buffers back without having asked.
  if (failed() || left() || what.sub >= kEarlySlots) return false;
  const EarlyHeader message = copy_of(block().early[what.sub].header);
  const std::uint32_t ahead = message.number - early_read_;
  if (ahead >= kEarlySlots || message.number % kEarlySlots != what.sub || (early_ahead_ >> ahead & 1) != 0 ||
      message.cookie != cookie_ || message.size > kMaxEarlyBytes || (message.sequence & kSequenceMask) != what.sequence)
    return false;
  if (adapter().reports_sizes() && bytes != EarlyMessage::bytes(message.size)) return false;
  // The sender's turn is at the next receive at most. That of a message which was dropped may be long over.
  if (static_cast<std::int32_t>(message.sequence - next_) > 0) return false;
  if (early_waits_ && (message.sequence == next_ || message.number == waiting_.number)) return false;
  if (message.sequence == next_) {
    waiting_ = message;
    early_waits_ = true;
  } else {
    take_early(message);
  }
  was_used(message.sequence - 1);
  paths().confirm();
  return true;
}

/// Fills the first buffer of the message's tag in the receive that it names.
void RecvComm::take_early(const EarlyHeader& message) noexcept {
  early_is_read(message.number);
  RecvRequest& request = requests_.slots()[slot_of(message.sequence)];
  if (request.sequence != message.sequence) return;
  for (std::uint8_t i = 0; i < request.count; ++i) {
    if (block().entries[slot_of(message.sequence)][i].tag != message.tag) continue;
    RecvRequest::Sub& sub = request.subs[i];
    // Not if it is too long or the buffer is the GPU's: the sender sees that in the entry.
    if (sub.done || sub.generation != 0 || message.size >= sub.early_limit) return;
    if (message.size > 0) {
      if (!is_registered(request, sub.data, message.size)) return;
      std::memcpy(sub.data, block().early[message.number % kEarlySlots].data, message.size);
    }
    sub.received = message.size;
    sub.early = true;
    filled(request, sub);
    return;
  }
}

/// As a NIC, nobody writes into memory that has been deregistered since the receive was posted.
bool RecvComm::is_registered(const RecvRequest& request, const std::byte* data, std::size_t size) const noexcept {
  return request.deregistrations == device().deregistrations() || device().holds(data, size);
}

/// Its memory may be written again once all before it have been read, too.
void RecvComm::early_is_read(std::uint32_t number) noexcept {
  early_ahead_ |= static_cast<std::uint8_t>(1U << (number - early_read_));
  for (; (early_ahead_ & 1) != 0; early_ahead_ >>= 1) ++early_read_;
  early_count_ = static_cast<std::uint8_t>(early_read_ & kEarlyCountMask);
}

}  // namespace weft::rdma
