#include "tests/emulation/efa/queue_pair.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

#include "tests/emulation/efa/settings.h"
#include "tests/emulation/efa/wire.h"

namespace weft::emulation::efa {
namespace {

constexpr uint32_t kForever = 7;

bool fits(const ibv_qp_init_attr_ex& wanted) {
  const ibv_qp_cap& cap = wanted.cap;
  return cap.max_send_wr <= settings().max_sends && cap.max_recv_wr <= settings().max_receives &&
         cap.max_send_sge <= kMaxSegments && cap.max_recv_sge <= kMaxSegments && cap.max_inline_data <= kMaxInline &&
         wanted.srq == nullptr && wanted.send_cq != nullptr && wanted.recv_cq != nullptr;
}

}  // namespace

QueuePair* QueuePair::create(ibv_context* context, ibv_pd* domain, ibv_qp_init_attr_ex* wanted, bool datagram,
                             bool unsolicited) {
  if (!fits(*wanted)) {
    errno = EINVAL;
    return nullptr;
  }
  const uint64_t id = next_object_id();
  const uint32_t depth = std::max(1u, wanted->cap.max_recv_wr);
  auto* receives = static_cast<ReceiveQueue*>(map_shared("r" + std::to_string(id), ReceiveQueue::bytes(depth), true));
  if (receives == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  receives->lock.init();
  receives->depth = depth;
  auto* pair = new QueuePair;
  pair->context_ = Context::of(context);
  pair->send_completions_ = CompletionQueue::of(wanted->send_cq);
  pair->receive_completions_ = CompletionQueue::of(wanted->recv_cq);
  pair->receives_ = receives;
  pair->receives_id_ = id;
  pair->datagram_ = datagram;
  pair->unsolicited_ = unsolicited;
  pair->send_depth_ = std::max(1u, wanted->cap.max_send_wr);
  pair->retries_ = datagram ? 0 : kForever;
  ibv_qp& verbs = pair->verbs_.qp_base;
  verbs.context = context;
  verbs.qp_context = wanted->qp_context;
  verbs.pd = domain;
  verbs.send_cq = wanted->send_cq;
  verbs.recv_cq = wanted->recv_cq;
  verbs.state = IBV_QPS_RESET;
  verbs.qp_type = datagram ? IBV_QPT_UD : IBV_QPT_DRIVER;
  pthread_mutex_init(&verbs.mutex, nullptr);
  pthread_cond_init(&verbs.cond, nullptr);
  set_work_request_writers(&pair->verbs_);
  if (!pair->take_slot()) {
    delete pair;
    errno = ENOMEM;
    return nullptr;
  }
  pair->context_->add(pair, verbs.qp_num);
  return pair;
}

bool QueuePair::take_slot() {
  SharedDevice& shared = nic();
  const std::lock_guard guard(shared.lock);
  for (uint32_t i = 0; i < kMaxQueuePairs; ++i) {
    const uint32_t at = (shared.queue_pair_hint + i) % kMaxQueuePairs;
    QueuePairSlot& slot = shared.queue_pairs[at];
    if (slot.state != 0) continue;
    slot.generation = slot.generation % 63 + 1;
    slot.number = slot.generation * kMaxQueuePairs + at;
    slot.pid = getpid();
    slot.domain = reinterpret_cast<ProtectionDomain*>(verbs_.qp_base.pd)->number;
    slot.unsolicited = unsolicited_;
    slot.datagram = datagram_;
    slot.qkey = 0;
    slot.receives = receives_id_;
    slot.completions = receive_completions_->id();
    slot.state.store(IBV_QPS_RESET + 1, std::memory_order_release);
    shared.queue_pair_hint = at + 1;
    slot_ = &slot;
    verbs_.qp_base.qp_num = slot.number;
    return true;
  }
  return false;
}

QueuePair::~QueuePair() {
  if (slot_ != nullptr) {
    wire_forget(*this);
    context_->remove(number());
    const std::lock_guard guard(nic().lock);
    slot_->state = 0;
  }
  unlink_shared("r" + std::to_string(receives_id_));
  munmap(receives_, ReceiveQueue::bytes(receives_->depth));
}

int QueuePair::modify(const ibv_qp_attr& attributes, int mask) {
  if ((mask & IBV_QP_QKEY) != 0) slot_->qkey = attributes.qkey;
  if ((mask & IBV_QP_RNR_RETRY) != 0) {
    const bool can = (settings().capabilities & EFADV_DEVICE_ATTR_CAPS_RNR_RETRY) != 0;
    if (!can || attributes.rnr_retry > kForever) return EINVAL;
    retries_ = attributes.rnr_retry;
  }
  if ((mask & IBV_QP_STATE) == 0) return 0;
  const int from = verbs_.qp_base.state, to = attributes.qp_state;
  const bool legal = to == IBV_QPS_RESET || to == IBV_QPS_ERR || (from == IBV_QPS_RESET && to == IBV_QPS_INIT) ||
                     (from == IBV_QPS_INIT && to == IBV_QPS_RTR) || (from == IBV_QPS_RTR && to == IBV_QPS_RTS);
  if (!legal) return EINVAL;
  verbs_.qp_base.state = attributes.qp_state;
  slot_->state.store(static_cast<uint32_t>(to) + 1, std::memory_order_release);
  if (to == IBV_QPS_ERR) flush_receives();
  return 0;
}

void QueuePair::break_down() {
  if (slot_->state.exchange(IBV_QPS_ERR + 1) != IBV_QPS_ERR + 1) flush_receives();
}

void QueuePair::flush_receives() {
  for (PostedReceive receive; receives_->take(&receive);) {
    Completion completion{};
    completion.id = receive.id;
    completion.pair = number();
    completion.status = CompletionStatus::kFlushed;
    completion.is_receive = true;
    receive_completions_->ring().push(completion, nic().counters);
  }
}

void QueuePair::start_batch() {
  batch_mutex_.lock();
  batch_.clear();
  batch_error_ = 0;
}

Operation* QueuePair::add_operation(OperationKind kind) {
  if (batch_error_ != 0) return nullptr;
  if (sends_in_use_ + batch_.size() >= send_depth_) {
    batch_error_ = ENOMEM;
    return nullptr;
  }
  Operation& operation = batch_.emplace_back();
  operation.pair = this;
  operation.id = verbs_.wr_id;
  operation.kind = kind;
  if (kind != OperationKind::kSend && datagram_) operation.error = CompletionStatus::kUnsupportedOperation;
  return &operation;
}

int QueuePair::finish_batch() {
  const int error = batch_error_;
  if (error == 0) {
    sends_in_use_ += static_cast<uint32_t>(batch_.size());
    for (const Operation& operation : batch_) wire_post(operation);
  }
  batch_.clear();
  batch_mutex_.unlock();
  return error;
}

void QueuePair::abort_batch() {
  batch_.clear();
  batch_mutex_.unlock();
}

int QueuePair::post(ibv_recv_wr* request, ibv_recv_wr** bad) {
  int error = 0;
  {
    const std::lock_guard guard(receives_->lock);
    for (; request != nullptr; request = request->next) {
      if (request->num_sge > static_cast<int>(kMaxSegments)) error = EINVAL;
      if (error == 0 && receives_->is_full()) error = ENOMEM;
      if (error != 0) {
        *bad = request;
        break;
      }
      PostedReceive receive{};
      receive.id = request->wr_id;
      receive.segment_count = static_cast<uint32_t>(request->num_sge);
      for (int i = 0; i < request->num_sge; ++i) {
        const ibv_sge& segment = request->sg_list[i];
        receive.segments[i] = {segment.addr, segment.length, segment.lkey};
      }
      receives_->push(receive);
    }
  }
  if (is_broken()) flush_receives();
  return error;
}

void QueuePair::complete(const Operation& operation, CompletionStatus status) {
  Completion completion{};
  completion.id = operation.id;
  completion.pair = number();
  completion.kind = operation.kind;
  completion.status = status;
  completion.length = operation.length;
  if (status != CompletionStatus::kOk) nic().counters.errors++;
  send_completions_->ring().push(completion, nic().counters);
}

ibv_qp* create_datagram_pair(ibv_context* context, ibv_qp_init_attr_ex* attributes) {
  if (attributes->qp_type != IBV_QPT_UD) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  auto* pair = QueuePair::create(context, attributes->pd, attributes, true, false);
  return pair != nullptr ? pair->verbs() : nullptr;
}

int post_receive(ibv_qp* pair, ibv_recv_wr* request, ibv_recv_wr** bad) {
  return QueuePair::of(pair)->post(request, bad);
}

}  // namespace weft::emulation::efa

using namespace weft::emulation::efa;

WEFT_VERBS ibv_qp* efadv_create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attributes, efadv_qp_init_attr* device,
                                      uint32_t size) {
  if (attributes->qp_type != IBV_QPT_DRIVER || device->driver_qp_type != EFADV_QP_DRIVER_TYPE_SRD) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  const bool unsolicited =
      size > offsetof(efadv_qp_init_attr, flags) && (device->flags & EFADV_QP_FLAGS_UNSOLICITED_WRITE_RECV) != 0;
  auto* pair = QueuePair::create(context, attributes->pd, attributes, false, unsolicited);
  return pair != nullptr ? pair->verbs() : nullptr;
}

WEFT_VERBS ibv_qp* efadv_create_driver_qp(ibv_pd* domain, ibv_qp_init_attr* attributes, uint32_t) {
  ibv_qp_init_attr_ex wanted{};
  memcpy(&wanted, attributes, offsetof(ibv_qp_init_attr_ex, comp_mask));
  auto* pair = QueuePair::create(domain->context, domain, &wanted, false, false);
  return pair != nullptr ? pair->verbs() : nullptr;
}

WEFT_VERBS ibv_qp* ibv_create_qp(ibv_pd* domain, ibv_qp_init_attr* attributes) {
  ibv_qp_init_attr_ex wanted{};
  memcpy(&wanted, attributes, offsetof(ibv_qp_init_attr_ex, comp_mask));
  wanted.pd = domain;
  return create_datagram_pair(domain->context, &wanted);
}

WEFT_VERBS ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* pair) { return reinterpret_cast<ibv_qp_ex*>(pair); }

WEFT_VERBS int ibv_query_qp_data_in_order(ibv_qp*, ibv_wr_opcode, uint32_t) {
  return settings().in_order ? IBV_QUERY_QP_DATA_IN_ORDER_ALIGNED_128_BYTES : 0;
}

WEFT_VERBS int ibv_modify_qp(ibv_qp* pair, ibv_qp_attr* attributes, int mask) {
  return QueuePair::of(pair)->modify(*attributes, mask);
}

WEFT_VERBS int ibv_query_qp(ibv_qp* verbs, ibv_qp_attr* attributes, int, ibv_qp_init_attr*) {
  QueuePair* pair = QueuePair::of(verbs);
  memset(static_cast<void*>(attributes), 0, sizeof *attributes);
  attributes->qp_state = static_cast<ibv_qp_state>(pair->slot().state - 1);
  attributes->qkey = pair->slot().qkey;
  attributes->rnr_retry = static_cast<uint8_t>(pair->retries());
  return 0;
}

WEFT_VERBS int ibv_destroy_qp(ibv_qp* pair) {
  delete QueuePair::of(pair);
  return 0;
}
