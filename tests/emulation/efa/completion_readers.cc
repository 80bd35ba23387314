#include "tests/emulation/efa/completion_readers.h"

#include <cerrno>
#include <cstring>

#include "tests/emulation/efa/completion_queue.h"

namespace weft::emulation::efa {
namespace {

template <class Queue>
const Completion& current(Queue* queue) {
  return CompletionQueue::of(queue)->current();
}

int start_poll(ibv_cq_ex* queue, ibv_poll_cq_attr* attributes) {
  return attributes->comp_mask != 0 ? EINVAL : CompletionQueue::of(queue)->start();
}
int next_poll(ibv_cq_ex* queue) { return CompletionQueue::of(queue)->next(); }
void end_poll(ibv_cq_ex* queue) { CompletionQueue::of(queue)->end(); }

ibv_wc_opcode read_opcode(ibv_cq_ex* queue) { return verbs_opcode(current(queue)); }
uint32_t read_vendor_error(ibv_cq_ex* queue) { return static_cast<uint32_t>(current(queue).status); }
uint32_t read_length(ibv_cq_ex* queue) { return current(queue).length; }
__be32 read_immediate(ibv_cq_ex* queue) { return current(queue).immediate; }
uint32_t read_pair(ibv_cq_ex* queue) { return current(queue).pair; }
uint32_t read_source_pair(ibv_cq_ex* queue) { return current(queue).source_pair; }
unsigned read_flags(ibv_cq_ex* queue) { return current(queue).has_immediate ? IBV_WC_WITH_IMM : 0; }
uint32_t read_address_handle(ibv_cq_ex* queue) { return current(queue).address_handle; }
uint8_t read_nothing(ibv_cq_ex*) { return 0; }

// Only for peers that have no address handle here, as the device does.
int read_source(efadv_cq* queue, ibv_gid* gid) {
  if (current(queue).address_handle != kNoAddressHandle) return -ENOENT;
  memcpy(gid->raw, current(queue).source.data(), sizeof gid->raw);
  return 0;
}
bool read_unsolicited(efadv_cq* queue) { return current(queue).unsolicited; }

}  // namespace

ibv_wc_status verbs_status(CompletionStatus status) {
  switch (status) {
    case CompletionStatus::kOk: return IBV_WC_SUCCESS;
    case CompletionStatus::kFlushed: return IBV_WC_WR_FLUSH_ERR;
    case CompletionStatus::kQpInternalError:
    case CompletionStatus::kUnsupportedOperation:
    case CompletionStatus::kInvalidAddressHandle: return IBV_WC_LOC_QP_OP_ERR;
    case CompletionStatus::kInvalidLocalKey: return IBV_WC_LOC_PROT_ERR;
    case CompletionStatus::kBadLength: return IBV_WC_LOC_LEN_ERR;
    case CompletionStatus::kRemoteBadAddress: return IBV_WC_REM_ACCESS_ERR;
    case CompletionStatus::kRemoteAbort: return IBV_WC_REM_ABORT_ERR;
    case CompletionStatus::kRemoteBadQp: return IBV_WC_REM_INV_RD_REQ_ERR;
    case CompletionStatus::kRemoteNotReady: return IBV_WC_RNR_RETRY_EXC_ERR;
    case CompletionStatus::kRemoteBadLength: return IBV_WC_REM_INV_REQ_ERR;
    case CompletionStatus::kRemoteBadStatus: return IBV_WC_BAD_RESP_ERR;
    case CompletionStatus::kUnresponsiveRemote:
    case CompletionStatus::kUnreachableRemote: return IBV_WC_RESP_TIMEOUT_ERR;
    case CompletionStatus::kRemoteUnknownPeer: return IBV_WC_REM_OP_ERR;
  }
  return IBV_WC_GENERAL_ERR;
}

// As the device's library: reads are reported as sends.
ibv_wc_opcode verbs_opcode(const Completion& completion) {
  const bool write = completion.kind == OperationKind::kWrite;
  if (completion.is_receive) return write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
  return write ? IBV_WC_RDMA_WRITE : IBV_WC_SEND;
}

void set_completion_readers(ibv_cq_ex* queue, efadv_cq* device) {
  queue->start_poll = start_poll;
  queue->next_poll = next_poll;
  queue->end_poll = end_poll;
  queue->read_opcode = read_opcode;
  queue->read_vendor_err = read_vendor_error;
  queue->read_byte_len = read_length;
  queue->read_imm_data = read_immediate;
  queue->read_qp_num = read_pair;
  queue->read_src_qp = read_source_pair;
  queue->read_wc_flags = read_flags;
  queue->read_slid = read_address_handle;
  queue->read_sl = read_nothing;
  queue->read_dlid_path_bits = read_nothing;
  device->wc_read_sgid = read_source;
  device->wc_is_unsolicited = read_unsolicited;
}

}  // namespace weft::emulation::efa
