#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/emulation/cuda/nccl/layout.h"
#include "tests/emulation/cuda/nccl/reduction.h"
#include "tests/emulation/cuda/nccl/task.h"

namespace weft::emulation::nccl {

// Memory that NCCL's proxy threads, or NICs, read and write at the same time.
template <class T>
T load_volatile(const T* from) {
  return *static_cast<const volatile T*>(from);
}
inline uint64_t load_acquire(const uint64_t* from) { return __atomic_load_n(from, __ATOMIC_ACQUIRE); }
inline void store_release(uint64_t* to, uint64_t value) { __atomic_store_n(to, value, __ATOMIC_RELEASE); }
inline void tell_size(FifoSlot* slot, size_t bytes) {
  __atomic_store_n(&slot->size, static_cast<ssize_t>(bytes), __ATOMIC_RELEASE);
}

// One block of a kernel: it works on one channel.
struct Block {
  CommunicatorAndChannels* all;
  Channel* channel;
  int channel_id;
  Scheduler* scheduler;
  bool aborted = false;

  const Communicator& communicator() const { return all->communicator; }
  // Looks whether the host gave up on the kernel.
  bool check_abort() {
    if (load_volatile(const_cast<const uint32_t*>(all->communicator.abort_flag)) != 0) aborted = true;
    return aborted;
  }
};

// LL: 8 bytes of data in a line of 16. Each half carries a flag that names the step, so the receiver needs no tail.
struct LlLine {
  uint64_t halves[2];
};

// How chunks map to steps of a connection's FIFO.
struct Shape {
  int slices_per_chunk, steps_per_slice;
  size_t step_bytes;
  bool ll;
};

// A chunk: received from every source (or not), combined with own values, kept, sent to every destination (or not).
struct Transfer {
  bool receive = false, send = false;
  const char* own = nullptr;   // this rank's values
  char* keep = nullptr;        // where the result stays
  char* registered = nullptr;  // the place in a registered buffer where the network itself reads and writes
  bool last = false;           // the sum is complete here
};

// Sends to some peers and receives from some, as NCCL's device code does: with the protocol that its proxy threads see.
class Primitives {
 public:
  Primitives(Block& block, const std::vector<Connection*>& sources, const std::vector<Connection*>& destinations,
             const Shape& shape, size_t element, const Reduction* reduction, bool net_registered = false);

  // count is in elements; what is below 0 is 0. Ends early when the block is aborted.
  Task move(Transfer transfer, ssize_t count);
  // Keeps the steps for the next operation, and waits until the network has read registered buffers.
  Task finish();

 private:
  // One direction of a connection.
  struct Link {
    Connection* connection;
    uint64_t step;
    bool net_registered;
  };

  Task move_simple(Transfer transfer, size_t count);
  Task move_ll(Transfer transfer, size_t count);
  char* slot(const Link& link) const;
  LlLine* ll_slot(const Link& link) const;
  // What a rank adds: its values, multiplied where the operator says so. The result may lie in scaled_.
  const char* own_values(const char* values, size_t count);
  void merge(const std::vector<const char*>& inputs, const std::vector<char*>& outputs, size_t count, bool last);

  Block& block_;
  const Shape shape_;
  const size_t element_;
  const Reduction* reduction_;
  std::vector<Link> sources_, destinations_;
  std::vector<char> scaled_;
};

}  // namespace weft::emulation::nccl
