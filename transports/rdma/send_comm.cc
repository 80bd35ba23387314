#include "transports/rdma/send_comm.h"

#include "transports/rdma/efa_status.h"

namespace weft::rdma {

PostStatus SendComm::send(const void* data, std::size_t size, int tag, const MemoryHandle* memory,
                          Request*& out) noexcept {
  const SpinGuard guard(device().lock());
  if (failed()) [[unlikely]]
    return PostStatus::kFailed;
  // Looked for once only: a permission that comes between two looks must not go to the later message of a tag.
  if (early_ != nullptr) [[unlikely]] {
    if (!place_early() && (tag == early_tag_ || !early_->dropped)) return not_now();
    if (failed()) return PostStatus::kFailed;
  }
  std::uint8_t sub = 0;
  const ClearToSend* entry = nullptr;
  // A clear-to-send held back may be the one that is missing here.
  do {
    entry = find(tag, sub);
  } while (entry == nullptr && to_itself_ && adapter().write_held());
  SendRequest* request = requests_.next();
  if (entry == nullptr || request == nullptr) [[unlikely]]
    return may_go_early(size, memory) ? send_early(data, size, tag, memory, out) : not_now();
  if (size > entry->size) [[unlikely]]
    return too_long(size, tag, *entry);

  request->data = static_cast<const std::byte*>(data);
  request->size = size;
  request->memory = memory;
  request->sequence = next_;
  request->sub = sub;
  request->generation = 0;
  request->attempts = 0;
  request->in_doubt = false;
  request->posted = request->in_flight = 0;
  plan(*request);
  request->state = RequestState::kPending;
  requests_.commit();
  use(*entry, sub);
  post(*request);
  adapter().write_held();
  out = request;
  return failed() ? PostStatus::kFailed : PostStatus::kPosted;
}

/// Hands out the stripes that have not been, as far as there is room.
[[gnu::always_inline]] inline void SendComm::post(SendRequest& request) noexcept {
  const ClearToSend& entry = block().entries[slot_of(request.sequence)][request.sub];
  const std::uint8_t count = request.plan.count;
  const std::uint32_t first = immediate(request, stripe_code(0, count)).bits();
  // An empty message still needs an address that the NIC may look at.
  const bool empty = request.size == 0 || request.memory == nullptr;
  const std::byte* const data = empty ? adapter().scratch() : request.data;
  const auto& descriptors = empty ? adapter().scratch_descriptors() : request.memory->rails->descriptors;
  while (request.posted < count) {
    const Stripe stripe = request.plan.stripe(request.posted, request.size);
    const Path& path = paths()[stripe.path];
    Lane& lane = this->lane(path);
    if (!paths().is_up(stripe.path)) [[unlikely]]
      return doubt(request);
    fabric::Operation* operation = lane.take(fabric::OperationKind::kSend, stripe.path, &request);
    if (operation == nullptr) [[unlikely]]
      return;
    const fabric::RemoteMemory to{entry.address + stripe.offset, entry.keys[path.remote]};
    const std::uint32_t what = first + request.posted;  // the code is the lowest field, and counts up with the stripes
    const bool is_size = !adapter().reports_sizes() && request.posted + 1 == count;
    const auto posted = is_size ? write_size(request, path, what, *operation)
                                : lane.endpoint().write_data(data + stripe.offset, stripe.size, descriptors[path.local],
                                                             path.address, to, what, *operation);
    if (posted.status != PostStatus::kPosted) [[unlikely]] {
      lane.give(*operation);
      if (posted.status == PostStatus::kAgain) return;
      return refused(request, stripe.path, posted.error);
    }
    ++request.posted;
    ++request.in_flight;
    operation_posted();
  }
}

void SendComm::refused(SendRequest& request, std::uint8_t path, int error) noexcept {
  if (!request.in_doubt && was_last_try(request, {.error = error})) return;
  paths().path_failed(path, {.error = error});
  doubt(request);
}

fabric::PostResult SendComm::write_size(const SendRequest& request, const Path& path, std::uint32_t what,
                                        fabric::Operation& operation) noexcept {
  std::uint32_t& size = block().sizes[slot_of(request.sequence)][request.sub];
  size = static_cast<std::uint32_t>(request.size);
  const std::size_t offset =
      offsetof(Block, sizes) + (slot_of(request.sequence) * kMaxGroup + request.sub) * sizeof size;
  return lane(path).endpoint().write_data(&size, sizeof size, Connection::descriptor(path), path.address,
                                          {remote_block_ + offset, remote_keys_[path.remote]}, what, operation);
}

void SendComm::post_rest(SendRequest& request) noexcept { post(request); }

void SendComm::complete(SendRequest& request) noexcept {
  auto& comm = static_cast<SendComm&>(*request.comm);
  --request.in_flight;
  comm.operation_ended();
  if (request.in_flight > 0 || request.posted < request.plan.count) return;
  if (request.in_doubt) [[unlikely]]
    request.ended = Clock::now();
  else if (!request.early) [[likely]]
    request.state = RequestState::kDone;
}

SendComm::SendComm(Adapter& adapter, Peer* peer, Paths* paths, BlockRef block, Key receiver, const Card& card,
                   std::uint32_t cookie)
    : Connection(adapter, peer, paths, block),
      receiver_(card.comm),
      cookie_(cookie),
      remote_block_(card.block),
      last_path_(static_cast<std::uint8_t>(card.comm % paths->count())),
      peer_takes_early_(card.takes_early != 0),
      to_itself_(peer->has_address(adapter.device().address())),
      requests_(*this) {
  set_remote(receiver);
  for (std::size_t i = 0; i < card.rails; ++i) remote_keys_[i] = card.rail[i].block_key;
}

Immediate SendComm::immediate(const SendRequest& request, std::uint8_t code) const noexcept {
  return {receiver_, static_cast<std::uint8_t>(request.sequence & kSequenceMask), request.sub, request.generation,
          code};
}

std::string SendComm::waits_for() const {
  if (inquiry_.request != nullptr)
    return "sends, of which one failed and waits for the peer to say whether it arrived all the same,";
  if (in_flight() > 0) return std::to_string(in_flight()) + " writes";
  return "sends, of which the next waits for receive " + std::to_string(next_) + " of the peer,";
}

PostStatus SendComm::not_now() noexcept {
  adapter().progress();
  waited();
  return failed() ? PostStatus::kFailed : PostStatus::kAgain;
}

PostStatus SendComm::too_long(std::size_t size, int tag, const ClearToSend& entry) noexcept {
  fail({Code::kTruncated, FI_ETRUNC,
        "a message of " + std::to_string(size) + " bytes to " + peer().name() + " (tag " + std::to_string(tag) +
            ", sequence " + std::to_string(next_) + ") does not fit: the receive there was posted with " +
            std::to_string(entry.size) +
            " bytes. The ranks disagree about a size: compare the arguments of the collective on both"});
  Notice notice = make_notice(NoticeKind::kTruncated);
  notice.tag = tag;
  notice.sequence = next_;
  notice.sent_bytes = size;
  notice.posted_bytes = entry.size;
  device().control().send_last(peer(), notice);
  return PostStatus::kFailed;
}

}  // namespace weft::rdma
