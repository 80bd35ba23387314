#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <type_traits>
#include <vector>

#include "tests/emulation/efa/completion_queue.h"
#include "tests/emulation/efa/context.h"
#include "tests/emulation/efa/memory_region.h"
#include "tests/emulation/efa/operation.h"
#include "tests/emulation/efa/shared_queues.h"
#include "tests/emulation/efa/verbs.h"

namespace weft::emulation::efa {

// A queue pair of this process: SRD, or UD when `datagram`.
class QueuePair {
 public:
  // nullptr, and errno: refused.
  static QueuePair* create(ibv_context* context, ibv_pd* domain, ibv_qp_init_attr_ex* attributes, bool datagram,
                           bool unsolicited);
  // Waits for the work requests that are being executed; the others vanish.
  ~QueuePair();

  static QueuePair* of(ibv_qp* pair) { return reinterpret_cast<QueuePair*>(pair); }
  static QueuePair* of(ibv_qp_ex* pair) { return reinterpret_cast<QueuePair*>(pair); }

  ibv_qp* verbs() { return &verbs_.qp_base; }
  Context& context() { return *context_; }
  SharedDevice& nic() { return context_->shared(); }
  QueuePairSlot& slot() { return *slot_; }
  uint32_t number() const { return verbs_.qp_base.qp_num; }
  uint32_t protection_domain() const { return slot_->domain; }
  uint32_t retries() const { return retries_; }

  int modify(const ibv_qp_attr& attributes, int mask);
  bool is_broken() const { return slot_->state.load(std::memory_order_acquire) == IBV_QPS_ERR + 1; }
  // To the error state, for good: posted receives are flushed.
  void break_down();

  // The open session of a post, as ibv_wr_start() and its like use it. The lock is held from start to finish, as the
  // device's library holds its own.
  void start_batch();
  Operation* add_operation(OperationKind kind);
  Operation* last_operation() { return batch_error_ != 0 || batch_.empty() ? nullptr : &batch_.back(); }
  void fail_batch(int error) { batch_error_ = error; }
  int finish_batch();
  void abort_batch();

  int post(ibv_recv_wr* request, ibv_recv_wr** bad);

  // The end of a work request: its completion, on the send queue.
  void complete(const Operation& operation, CompletionStatus status);
  void release_send() { sends_in_use_--; }

  // What the wire keeps here.
  struct Wire {
    std::atomic<uint32_t> executing{0};  // work requests being executed now
    std::vector<Operation> window;       // those held back to be reordered; this and the rest under the wire's lock
    uint64_t window_due_ns = 0;
    bool is_closing = false;
  };
  Wire& wire() { return wire_; }

 private:
  QueuePair() = default;
  bool take_slot();
  void flush_receives();

  ibv_qp_ex verbs_{};  // first: handed out, also as an ibv_qp
  Context* context_ = nullptr;
  CompletionQueue *send_completions_ = nullptr, *receive_completions_ = nullptr;
  QueuePairSlot* slot_ = nullptr;
  ReceiveQueue* receives_ = nullptr;
  uint64_t receives_id_ = 0;
  bool datagram_ = false, unsolicited_ = false;
  uint32_t send_depth_ = 0, retries_ = 0;
  std::atomic<uint32_t> sends_in_use_{0};
  std::mutex batch_mutex_;
  std::vector<Operation> batch_;
  int batch_error_ = 0;
  Wire wire_;
};

static_assert(std::is_standard_layout_v<QueuePair> && std::is_standard_layout_v<CompletionQueue>);

// The functions by which a program builds work requests.
void set_work_request_writers(ibv_qp_ex* pair);

}  // namespace weft::emulation::efa
