#include "transports/sendrecv/recv_comm.h"

#include <algorithm>
#include <span>

#include "transports/connection/gpu_flush.h"
#include "transports/sendrecv/progress.h"
#include "weft/log.h"

namespace weft::sendrecv {
namespace {

const MemoryHandle* handle_of(const void* memory) noexcept { return static_cast<const MemoryHandle*>(memory); }

void* descriptor_of(void* const* memory, int i) noexcept {
  return memory != nullptr && memory[i] != nullptr ? handle_of(memory[i])->descriptor : nullptr;
}

}  // namespace

PostStatus RecvComm::receive(int count, void* const* data, const std::size_t* sizes, const int* tags,
                             void* const* memory, bool optional_completion, Request*& out) noexcept {
  const SpinGuard guard(device().lock());
  if (failed()) [[unlikely]]
    return PostStatus::kFailed;
  RecvRequest* request = requests_.next();
  if (request == nullptr) [[unlikely]]
    return not_now();
  request->optional = optional_completion;
  if (count > 1) {
    const PostStatus status = receive_group(*request, count, data, sizes, tags, memory);
    if (status == PostStatus::kPosted) out = request;
    return status;
  }
  std::uint64_t* data_tag = sequences_.find(tags[0]);
  if (data_tag == nullptr) [[unlikely]]
    return too_many_tags(tags[0]);

  auto& sub = request->subs[0];
  sub.size = sizes[0];
  sub.tag = *data_tag;
  sub.memory = memory != nullptr ? handle_of(memory[0]) : nullptr;
  const auto posted = endpoint().tagged_receive(data[0], sizes[0], descriptor_of(memory, 0), sub.tag, sub.operation);
  if (posted.status != PostStatus::kPosted) [[unlikely]] {
    return posted.status == PostStatus::kAgain ? not_now() : refused(posted.error);
  }
  *data_tag += kNextInSequence;
  request->count = request->posted = request->remaining = 1;
  request->state = RequestState::kPending;
  requests_.commit();
  operation_posted();
  out = request;
  return PostStatus::kPosted;
}

PostStatus RecvComm::receive_group(RecvRequest& request, int count, void* const* data, const std::size_t* sizes,
                                   const int* tags, void* const* memory) noexcept {
  for (int i = 0; i < count; ++i) {
    std::uint64_t* data_tag = sequences_.find(tags[i]);
    if (data_tag == nullptr) [[unlikely]]
      return too_many_tags(tags[i]);
    auto& sub = request.subs[static_cast<std::size_t>(i)];
    sub.data = data[i];
    sub.size = sizes[i];
    sub.descriptor = descriptor_of(memory, i);
    sub.memory = memory != nullptr ? handle_of(memory[i]) : nullptr;
    sub.tag = *data_tag;
    *data_tag += kNextInSequence;
  }
  request.count = request.remaining = static_cast<std::uint8_t>(count);
  request.posted = 0;
  request.state = RequestState::kPending;
  requests_.commit();
  // What the provider cannot take now is left to catch_up(): the sequence numbers are taken, so the order is kept.
  post_rest(request);
  return failed() ? PostStatus::kFailed : PostStatus::kPosted;
}

void RecvComm::post_rest(RecvRequest& request) noexcept {
  while (request.posted < request.count && !failed()) {
    auto& sub = request.subs[request.posted];
    const auto posted = endpoint().tagged_receive(sub.data, sub.size, sub.descriptor, sub.tag, sub.operation);
    if (posted.status == PostStatus::kFailed) refused(posted.error);
    if (posted.status != PostStatus::kPosted) return;
    ++request.posted;
    operation_posted();
  }
}

PostStatus RecvComm::refused(int error) noexcept {
  post_failed("a receive", error);
  return PostStatus::kFailed;
}

RecvComm::RecvComm(Device& device, Peer* peer, Key sender)
    : Comm(device, peer),
      can_detach_(device.rail().info().get()->domain_attr->data_progress == FI_PROGRESS_AUTO),
      requests_(*this) {
  set_remote(sender);
}

void RecvComm::start() noexcept { sequences_.start(key()); }

PostStatus RecvComm::flush(int count, const int* sizes, void* const* memory, Request*& out) noexcept {
  out = nullptr;
  const Status flushed = flush_gpu_writes(device().options().cuda, count, sizes, memory);
  if (flushed) return PostStatus::kPosted;
  const SpinGuard guard(device().lock());
  fail(flushed.error());
  return PostStatus::kFailed;
}

PostStatus RecvComm::not_now() noexcept {
  progress(device());
  waiting();
  return failed() ? PostStatus::kFailed : PostStatus::kAgain;
}

PostStatus RecvComm::too_many_tags(int tag) noexcept {
  fail({Code::kUsage, 0,
        "tag " + std::to_string(tag) + " from peer " + peer().name() + " is one too many: a connection can have " +
            std::to_string(TagSequences::kCapacity) + " different tags besides 0"});
  return PostStatus::kFailed;
}

void RecvComm::report() noexcept {
  Notice notice = make_notice(NoticeKind::kConsumed);
  notice.count = static_cast<std::uint32_t>(ended());
  if (device().control().send(peer(), notice) == PostStatus::kPosted) reported_ = notice.count;
}

void RecvComm::complete_error(RecvRequest& request, const fabric::CompletionError& error) noexcept {
  auto& sub = request.subs[error.operation->index];
  sub.memory = nullptr;
  request.comm->operation_ended();
  request.comm->operation_failed(error, {nccl_tag_of(sub.tag), sequence_of(sub.tag), sub.size});
}

std::size_t RecvComm::cancel(const MemoryHandle* memory) noexcept {
  std::size_t count = 0;
  for (RecvRequest& request : requests_.slots()) {
    if (request.state != RequestState::kPending && request.state != RequestState::kDetached) continue;
    for (std::size_t i = 0; i < request.count; ++i) {
      auto& sub = request.subs[i];
      if (memory != nullptr && sub.memory != memory) continue;
      ++count;
      // One that has ended already is not found by the provider, which does no harm.
      if (i < request.posted) endpoint().cancel(sub.operation);
    }
  }
  return count;
}

void RecvComm::withdraw(const MemoryHandle* memory) noexcept {
  const std::size_t count = cancel(memory);
  if (count == 0 || failed()) return;
  give_up({Code::kUsage, 0,
           std::to_string(count) + " receives from peer " + peer().name() + " on " + device().name() +
               " were given up: their memory was deregistered, as it is when a communicator is aborted"});
  WEFT_INFO("%s", error().what.c_str());
}

bool RecvComm::uses(const MemoryHandle* memory) const noexcept {
  return in_flight() > 0 && std::ranges::any_of(requests_.slots(), [memory](const RecvRequest& request) {
           if (request.state != RequestState::kPending && request.state != RequestState::kDetached) return false;
           const auto posted = std::span(request.subs).first(request.posted);
           return std::ranges::any_of(posted, [memory](const auto& sub) { return sub.memory == memory; });
         });
}

}  // namespace weft::sendrecv
