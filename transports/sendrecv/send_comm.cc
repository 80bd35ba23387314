#include "transports/sendrecv/send_comm.h"

#include <algorithm>

#include "transports/sendrecv/progress.h"

namespace weft::sendrecv {
namespace {

/// How long a peer may take for a send whose memory is to be deregistered: enough for one that it is taking.
constexpr std::chrono::milliseconds kSendGrace{200};

}  // namespace

PostStatus SendComm::send(const void* data, std::size_t size, int tag, const MemoryHandle* memory,
                          Request*& out) noexcept {
  const SpinGuard guard(device().lock());
  if (failed()) [[unlikely]]
    return PostStatus::kFailed;
  SendRequest* request = requests_.next();
  if (request == nullptr || unreported() >= kSendWindow) [[unlikely]]
    return not_now();
  std::uint64_t* data_tag = sequences_.find(tag);
  if (data_tag == nullptr) [[unlikely]]
    return too_many_tags(tag);

  // Always with a completion, never inject: a provider may keep injected data in its own memory and send it only in a
  // later call, which may never come once NCCL has seen the request done.
  request->size = size;
  request->tag = *data_tag;
  request->memory = memory;
  const auto posted = endpoint().tagged_send(data, size, memory != nullptr ? memory->descriptor : nullptr,
                                             peer().address(), request->tag, request->operation);
  if (posted.status != PostStatus::kPosted) [[unlikely]] {
    return posted.status == PostStatus::kAgain ? not_now() : refused(posted.error);
  }
  *data_tag += kNextInSequence;
  request->state = RequestState::kPending;
  requests_.commit();
  operation_posted();
  out = request;
  return PostStatus::kPosted;
}

void SendComm::withdraw(const MemoryHandle* memory) noexcept {
  if (!grace_ends_ && has_in_flight(memory)) grace_ends_ = Clock::now() + kSendGrace;
}

bool SendComm::uses(const MemoryHandle* memory) const noexcept {
  return !peer_closed() && grace_ends_ && Clock::now() < *grace_ends_ && has_in_flight(memory);
}

bool SendComm::has_in_flight(const MemoryHandle* memory) const noexcept {
  return in_flight() > 0 && std::ranges::any_of(requests_.slots(), [memory](const SendRequest& request) {
           return request.state == RequestState::kPending && request.memory == memory;
         });
}

SendComm::SendComm(Device& device, Peer* peer, Key receiver) : Comm(device, peer), requests_(*this) {
  set_remote(receiver);
  sequences_.start(receiver);
}

PostStatus SendComm::not_now() noexcept {
  progress(device());
  waiting();
  return failed() ? PostStatus::kFailed : PostStatus::kAgain;
}

PostStatus SendComm::refused(int error) noexcept {
  post_failed("a send", error);
  return PostStatus::kFailed;
}

PostStatus SendComm::too_many_tags(int tag) noexcept {
  fail({Code::kUsage, 0,
        "tag " + std::to_string(tag) + " to peer " + peer().name() + " is one too many: a connection can have " +
            std::to_string(TagSequences::kCapacity) + " different tags besides 0"});
  return PostStatus::kFailed;
}

bool SendComm::on_notice(const Notice& notice) {
  if (notice.kind != NoticeKind::kConsumed) return Comm::on_notice(notice);
  // Reports only grow; one that was overtaken by a later one says nothing new, one from the future is a forgery.
  const std::uint32_t step = notice.count - consumed_;
  if (step > unreported()) return static_cast<std::int32_t>(step) < 0;
  consumed_ = notice.count;
  return true;
}

void SendComm::complete_error(SendRequest& request, const fabric::CompletionError& error) noexcept {
  request.memory = nullptr;
  request.comm->operation_ended();
  request.comm->operation_failed(error, {nccl_tag_of(request.tag), sequence_of(request.tag), request.size});
}

}  // namespace weft::sendrecv
