// How a program builds the work requests of a send queue: libibverbs' ibv_wr_*() and the older ibv_post_send().
#include <cerrno>
#include <cstring>

#include "tests/emulation/efa/address_handle.h"
#include "tests/emulation/efa/queue_pair.h"
#include "tests/emulation/efa/settings.h"

namespace weft::emulation::efa {
namespace {

void add(ibv_qp_ex* pair, OperationKind kind) { QueuePair::of(pair)->add_operation(kind); }
void set_immediate(Operation* operation, __be32 immediate) {
  if (operation == nullptr) return;
  operation->has_immediate = true;
  operation->immediate = immediate;
}
Operation* add_rdma(ibv_qp_ex* pair, OperationKind kind, uint32_t key, uint64_t address) {
  Operation* operation = QueuePair::of(pair)->add_operation(kind);
  if (operation != nullptr) {
    operation->remote_key = key;
    operation->remote_address = address;
  }
  return operation;
}

void start(ibv_qp_ex* pair) { QueuePair::of(pair)->start_batch(); }
int complete(ibv_qp_ex* pair) { return QueuePair::of(pair)->finish_batch(); }
void abort_session(ibv_qp_ex* pair) { QueuePair::of(pair)->abort_batch(); }

void send(ibv_qp_ex* pair) { add(pair, OperationKind::kSend); }
void send_immediate(ibv_qp_ex* pair, __be32 immediate) {
  set_immediate(QueuePair::of(pair)->add_operation(OperationKind::kSend), immediate);
}
void rdma_read(ibv_qp_ex* pair, uint32_t key, uint64_t address) { add_rdma(pair, OperationKind::kRead, key, address); }
void rdma_write(ibv_qp_ex* pair, uint32_t key, uint64_t address) {
  add_rdma(pair, OperationKind::kWrite, key, address);
}
void rdma_write_immediate(ibv_qp_ex* pair, uint32_t key, uint64_t address, __be32 immediate) {
  set_immediate(add_rdma(pair, OperationKind::kWrite, key, address), immediate);
}

void set_target(ibv_qp_ex* pair, ibv_ah* handle, uint32_t target, uint32_t key) {
  Operation* operation = QueuePair::of(pair)->last_operation();
  if (operation == nullptr) return;
  operation->gid = reinterpret_cast<AddressHandle*>(handle)->gid;
  operation->target_pair = target;
  operation->target_key = key;
}

void set_segments(ibv_qp_ex* pair, size_t count, const ibv_sge* segments) {
  Operation* operation = QueuePair::of(pair)->last_operation();
  if (operation == nullptr) return;
  const bool is_send = operation->kind == OperationKind::kSend;
  if (count > (is_send ? kMaxSegments : 1)) return QueuePair::of(pair)->fail_batch(EINVAL);
  uint64_t length = 0;
  for (size_t i = 0; i < count; ++i) {
    operation->segments[i] = {segments[i].addr, segments[i].length, segments[i].lkey};
    length += segments[i].length;
  }
  operation->segment_count = static_cast<uint32_t>(count);
  if (length > (is_send ? settings().mtu : settings().max_rdma)) operation->error = CompletionStatus::kBadLength;
  operation->length = static_cast<uint32_t>(length);
}
void set_segment(ibv_qp_ex* pair, uint32_t key, uint64_t address, uint32_t length) {
  const ibv_sge segment = {address, length, key};
  set_segments(pair, 1, &segment);
}

void set_inline_list(ibv_qp_ex* pair, size_t count, const ibv_data_buf* parts) {
  Operation* operation = QueuePair::of(pair)->last_operation();
  if (operation == nullptr) return;
  size_t length = 0;
  for (size_t i = 0; i < count; ++i) {
    if (parts[i].length > kMaxInline - length) return QueuePair::of(pair)->fail_batch(EINVAL);
    if (parts[i].length != 0) memcpy(operation->inline_data + length, parts[i].addr, parts[i].length);
    length += parts[i].length;
  }
  operation->is_inline = true;
  operation->length = static_cast<uint32_t>(length);
}
void set_inline(ibv_qp_ex* pair, void* data, size_t length) {
  const ibv_data_buf part = {data, length};
  set_inline_list(pair, 1, &part);
}

void add(ibv_qp_ex* pair, const ibv_send_wr& request) {
  switch (request.opcode) {
    case IBV_WR_SEND: return send(pair);
    case IBV_WR_SEND_WITH_IMM: return send_immediate(pair, request.imm_data);
    case IBV_WR_RDMA_READ: return rdma_read(pair, request.wr.rdma.rkey, request.wr.rdma.remote_addr);
    default: QueuePair::of(pair)->fail_batch(EINVAL);
  }
}

}  // namespace

int post_send(ibv_qp* verbs, ibv_send_wr* request, ibv_send_wr** bad) {
  auto* pair = reinterpret_cast<ibv_qp_ex*>(verbs);
  for (; request != nullptr; request = request->next) {
    start(pair);
    pair->wr_id = request->wr_id;
    add(pair, *request);
    if (request->num_sge > static_cast<int>(kMaxSegments)) {
      QueuePair::of(pair)->fail_batch(EINVAL);
    } else if ((request->send_flags & IBV_SEND_INLINE) != 0) {
      ibv_data_buf parts[kMaxSegments];
      for (int i = 0; i < request->num_sge; ++i)
        parts[i] = {reinterpret_cast<void*>(request->sg_list[i].addr), request->sg_list[i].length};
      set_inline_list(pair, static_cast<size_t>(request->num_sge), parts);
    } else {
      set_segments(pair, static_cast<size_t>(request->num_sge), request->sg_list);
    }
    set_target(pair, request->wr.ud.ah, request->wr.ud.remote_qpn, request->wr.ud.remote_qkey);
    if (const int error = complete(pair); error != 0) {
      *bad = request;
      return error;
    }
  }
  return 0;
}

void set_work_request_writers(ibv_qp_ex* pair) {
  pair->wr_start = start;
  pair->wr_complete = complete;
  pair->wr_abort = abort_session;
  pair->wr_send = send;
  pair->wr_send_imm = send_immediate;
  pair->wr_rdma_read = rdma_read;
  pair->wr_rdma_write = rdma_write;
  pair->wr_rdma_write_imm = rdma_write_immediate;
  pair->wr_set_ud_addr = set_target;
  pair->wr_set_sge = set_segment;
  pair->wr_set_sge_list = set_segments;
  pair->wr_set_inline_data = set_inline;
  pair->wr_set_inline_data_list = set_inline_list;
}

}  // namespace weft::emulation::efa
