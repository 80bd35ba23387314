#include "tests/emulation/efa/completion_queue.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/emulation/efa/completion_readers.h"
#include "tests/emulation/efa/queue_pair.h"
#include "tests/emulation/efa/settings.h"
#include "tests/emulation/efa/wire.h"

namespace weft::emulation::efa {
namespace {

struct Channel {
  ibv_comp_channel verbs;  // first: handed out; its descriptor is the end to read from
  int write_end;
};

}  // namespace

CompletionQueue* CompletionQueue::of(efadv_cq* queue) {
  return reinterpret_cast<CompletionQueue*>(reinterpret_cast<char*>(queue) - offsetof(CompletionQueue, device_verbs_));
}

CompletionQueue* CompletionQueue::create(ibv_context* context, uint32_t size, void* user, ibv_comp_channel* channel) {
  if (size == 0 || size > settings().max_completions) {
    errno = EINVAL;
    return nullptr;
  }
  const uint64_t id = next_object_id();
  const uint32_t depth = std::bit_ceil(size);
  auto* ring = static_cast<CompletionRing*>(map_shared("c" + std::to_string(id), CompletionRing::bytes(depth), true));
  if (ring == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  auto* queue = new CompletionQueue;
  queue->context_ = Context::of(context);
  queue->id_ = id;
  queue->ring_ = ring;
  ring->lock.init();
  ring->depth = depth;
  ring->pid = getpid();
  ring->notify_fd = -1;
  if (channel != nullptr) {
    ring->notify_fd = reinterpret_cast<Channel*>(channel)->write_end;
    ring->notify_cookie = reinterpret_cast<uint64_t>(queue);
    channel->refcnt++;
  }
  ibv_cq_ex& verbs = queue->verbs_;
  verbs.context = context;
  verbs.channel = channel;
  verbs.cq_context = user;
  verbs.cqe = static_cast<int>(depth);
  pthread_mutex_init(&verbs.mutex, nullptr);
  pthread_cond_init(&verbs.cond, nullptr);
  set_completion_readers(&verbs, &queue->device_verbs_);
  return queue;
}

CompletionQueue::~CompletionQueue() {
  if (verbs_.channel != nullptr) verbs_.channel->refcnt--;
  ring_->armed = 0;
  unlink_shared("c" + std::to_string(id_));
  munmap(ring_, CompletionRing::bytes(ring_->depth));
}

int CompletionQueue::start() {
  while (polled_.test_and_set(std::memory_order_acquire)) sched_yield();
  const int result = next();
  if (result != 0) end();
  return result;
}

int CompletionQueue::next() {
  if (ring_->is_empty()) {
    wire_progress();
    if (ring_->is_empty()) return ENOENT;
  }
  const uint32_t head = ring_->head.load(std::memory_order_relaxed);
  current_ = ring_->entries[head % ring_->depth];
  ring_->head.store(head + 1, std::memory_order_release);
  const bool alive = context_->with_queue_pair(current_.pair, [this](QueuePair& pair) {
    if (!current_.is_receive) pair.release_send();
  });
  if (!alive) return EINVAL;
  verbs_.status = verbs_status(current_.status);
  verbs_.wr_id = current_.id;
  return 0;
}

ibv_cq_ex* create_completion_queue(ibv_context* context, ibv_cq_init_attr_ex* attributes) {
  auto* queue = CompletionQueue::create(context, attributes->cqe, attributes->cq_context, attributes->channel);
  return queue != nullptr ? queue->verbs() : nullptr;
}

int poll_completion_queue(ibv_cq* verbs, int count, ibv_wc* completions) {
  CompletionQueue* queue = CompletionQueue::of(verbs);
  if (count <= 0 || queue->start() != 0) return 0;
  int filled = 0;
  do {
    const Completion& completion = queue->current();
    ibv_wc& entry = completions[filled];
    memset(static_cast<void*>(&entry), 0, sizeof entry);
    entry.wr_id = completion.id;
    entry.status = verbs_status(completion.status);
    entry.opcode = verbs_opcode(completion);
    entry.vendor_err = static_cast<uint32_t>(completion.status);
    entry.byte_len = completion.length;
    entry.imm_data = completion.immediate;
    entry.qp_num = completion.pair;
    entry.src_qp = completion.source_pair;
    entry.wc_flags = completion.has_immediate ? IBV_WC_WITH_IMM : 0;
    entry.slid = completion.address_handle;
  } while (++filled < count && queue->next() == 0);
  queue->end();
  return filled;
}

int request_notification(ibv_cq* verbs, int) {
  CompletionRing& ring = CompletionQueue::of(verbs)->ring();
  ring.armed.store(1);
  // What came before the queue was armed counts as well.
  if (!ring.is_empty() && ring.armed.exchange(0) != 0) ring.notify();
  return 0;
}

}  // namespace weft::emulation::efa

using namespace weft::emulation::efa;

WEFT_VERBS ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return nullptr;
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  auto* channel = new Channel{};
  channel->verbs.context = context;
  channel->verbs.fd = ends[0];
  channel->write_end = ends[1];
  return &channel->verbs;
}

WEFT_VERBS int ibv_destroy_comp_channel(ibv_comp_channel* verbs) {
  auto* channel = reinterpret_cast<Channel*>(verbs);
  close(channel->verbs.fd);
  close(channel->write_end);
  delete channel;
  return 0;
}

WEFT_VERBS int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** queue, void** user) {
  uint64_t cookie = 0;
  if (read(channel->fd, &cookie, sizeof cookie) != sizeof cookie) return -1;
  *queue = reinterpret_cast<ibv_cq*>(cookie);
  *user = (*queue)->cq_context;
  return 0;
}

WEFT_VERBS void ibv_ack_cq_events(ibv_cq*, unsigned) {}

WEFT_VERBS ibv_cq* ibv_create_cq(ibv_context* context, int size, void* user, ibv_comp_channel* channel, int) {
  return reinterpret_cast<ibv_cq*>(CompletionQueue::create(context, static_cast<uint32_t>(size), user, channel));
}

WEFT_VERBS ibv_cq_ex* efadv_create_cq(ibv_context* context, ibv_cq_init_attr_ex* attributes, efadv_cq_init_attr* device,
                                      uint32_t) {
  const bool unsolicited = device != nullptr && (device->wc_flags & EFADV_WC_EX_WITH_IS_UNSOLICITED) != 0;
  if (unsolicited && (settings().capabilities & EFADV_DEVICE_ATTR_CAPS_UNSOLICITED_WRITE_RECV) == 0) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  return create_completion_queue(context, attributes);
}

WEFT_VERBS efadv_cq* efadv_cq_from_ibv_cq_ex(ibv_cq_ex* queue) { return CompletionQueue::of(queue)->device_verbs(); }

WEFT_VERBS int ibv_destroy_cq(ibv_cq* queue) {
  delete CompletionQueue::of(queue);
  return 0;
}
