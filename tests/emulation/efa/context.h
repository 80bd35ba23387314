#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "tests/emulation/efa/shared_device.h"
#include "tests/emulation/efa/verbs.h"

namespace weft::emulation::efa {

class QueuePair;

// A NIC of this host as libibverbs lists it.
struct Device {
  ibv_device verbs;  // first: handed out as it is
  uint32_t nic;
  Gid gid;
};

// A NIC that the process opened.
class Context {
 public:
  Context(Device* device, SharedDevice* shared);
  static Context* of(ibv_context* context);

  ibv_context* verbs() { return &verbs_.context; }
  SharedDevice& shared() { return *shared_; }
  const Gid& gid() const { return shared_->gid; }

  uint32_t next_protection_domain() { return next_protection_domain_++; }

  void add(QueuePair* pair, uint32_t number);
  void remove(uint32_t number);
  // Calls visit with the queue pair of that number, which lives until it returns. False: there is none.
  template <class Visit>
  bool with_queue_pair(uint32_t number, Visit visit) {
    const std::lock_guard guard(mutex_);
    const Entry& entry = pairs_[number & (kMaxQueuePairs - 1)];
    if (entry.pair == nullptr || entry.number != number) return false;
    visit(*entry.pair);
    return true;
  }

 private:
  struct Entry {
    QueuePair* pair = nullptr;
    uint32_t number = 0;
  };

  verbs_context verbs_{};
  SharedDevice* shared_;
  std::atomic<uint32_t> next_protection_domain_;
  std::mutex mutex_;
  std::array<Entry, kMaxQueuePairs> pairs_;
};

// What libibverbs keeps behind the functions of a context.
ibv_cq_ex* create_completion_queue(ibv_context* context, ibv_cq_init_attr_ex* attributes);
ibv_qp* create_datagram_pair(ibv_context* context, ibv_qp_init_attr_ex* attributes);
int poll_completion_queue(ibv_cq* queue, int count, ibv_wc* completions);
int request_notification(ibv_cq* queue, int solicited_only);
int post_send(ibv_qp* pair, ibv_send_wr* request, ibv_send_wr** bad);
int post_receive(ibv_qp* pair, ibv_recv_wr* request, ibv_recv_wr** bad);

}  // namespace weft::emulation::efa
