#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "tests/emulation/cuda/nccl/collectives.h"

namespace weft::emulation::nccl {
namespace {

constexpr int kMaxDimensions = 32;

// The peer at a distance of a power of two. filled: how far its slots hold data of this operation, counted over all
// steps in elements; behind that a slot's content is old.
struct PatPeer {
  Connection* connection = nullptr;
  uint64_t step = 0;
  uint64_t filled = 0;

  size_t step_elements(size_t element) const { return static_cast<size_t>(connection->step_size) / element; }
  char* place(uint64_t at, int offset, size_t element) const {
    return connection->buffers[kProtocolSimple] + at % kSteps * static_cast<size_t>(connection->step_size) +
           static_cast<size_t>(offset) * element;
  }
};

class PatWork {
 public:
  PatWork(Block& block, const CollectiveWork& work, const Function& function)
      : block_(block),
        in_(work.send_buffer),
        out_(work.recv_buffer),
        element_(size_of(function.type)),
        reduction_(reduction_of(work, function)) {
    const int ranks = block.communicator().ranks;
    const int rank = block.communicator().rank;
    const bool gather = function.collective == Collective::kAllGather;
    for (int dimension = 0; dimension < kMaxDimensions && int64_t{1} << dimension < ranks; ++dimension) {
      const int distance = 1 << dimension;
      const int below = (rank - distance + ranks) % ranks;
      const int above = (rank + distance) % ranks;
      sources_[dimension].connection = &block.channel->peers[gather ? above : below]->recv[0];
      destinations_[dimension].connection = &block.channel->peers[gather ? below : above]->send[0];
      for (PatPeer* peer : {&sources_[dimension], &destinations_[dimension]}) peer->step = peer->connection->step;
    }
  }

  // A step of a gather: what came, or our own, goes on to a peer and into the output, the latter once.
  Task copy(PatStep step) {
    const auto count = static_cast<size_t>(std::max(step.count, 0));
    const char* from = in_ + step.in * element_;
    bool fresh = false;
    if (PatPeer* source = find(sources_, step.recv_dim)) {
      const uint64_t at = source->step + static_cast<uint64_t>(step.step_offset);
      while (load_acquire(source->connection->tail) < at + 1) {
        if (block_.check_abort()) co_return;
        co_await kYield;
      }
      from = source->place(at, step.recv_offset, element_);
      fresh = mark(*source, at, step.recv_offset, count);
    } else {
      fresh = mark_local(step.in + count);
    }
    PatPeer* destination = find(destinations_, step.send_dim);
    char* to = nullptr;
    if (destination != nullptr) {
      while (load_acquire(destination->connection->head) + kSteps < destination->step + 1) {
        if (block_.check_abort()) co_return;
        co_await kYield;
      }
      to = destination->place(destination->step, step.send_offset, element_);
    }
    if (to != nullptr) memcpy(to, from, count * element_);
    char* kept = out_ + step.out * element_;
    if (fresh && kept != from) memcpy(kept, from, count * element_);
    post(step, count);
  }

  // A step of a reduce-scatter: what came is added to what is gathered for a peer, or for us.
  Task reduce(PatStep step) {
    const auto count = static_cast<size_t>(std::max(step.count, 0));
    const char* received = nullptr;
    if (PatPeer* source = find(sources_, step.recv_dim)) {
      while (load_acquire(source->connection->tail) < source->step + 1) {
        if (block_.check_abort()) co_return;
        co_await kYield;
      }
      received = source->place(source->step, step.recv_offset, element_);
    }
    char* to = out_ + step.out * element_;
    bool fresh = false;
    if (PatPeer* destination = find(destinations_, step.send_dim)) {
      const uint64_t at = destination->step + static_cast<uint64_t>(step.step_offset);
      while (load_acquire(destination->connection->head) + kSteps < at + 1) {
        if (block_.check_abort()) co_return;
        co_await kYield;
      }
      to = destination->place(at, step.send_offset, element_);
      fresh = mark(*destination, at, step.send_offset, count);
    } else {
      fresh = mark_local(step.out + count);
    }
    const char* gathered = fresh ? in_ + step.in * element_ : to;
    if (received != nullptr) {
      reduction_.combine(to, received, gathered, count);
    } else if (gathered != to) {
      memcpy(to, gathered, count * element_);
    }
    post(step, count);
  }

 private:
  using Peers = std::array<PatPeer, kMaxDimensions>;

  static PatPeer* find(Peers& peers, int dimension) {
    return dimension >= 0 ? &peers[static_cast<size_t>(dimension)] : nullptr;
  }
  // Whether this part of the slot is reached for the first time.
  bool mark(PatPeer& peer, uint64_t at, int offset, size_t count) const {
    const uint64_t end = at * peer.step_elements(element_) + static_cast<uint64_t>(offset) + count;
    if (peer.filled >= end) return false;
    peer.filled = end;
    return true;
  }
  bool mark_local(size_t end) {
    if (filled_locally_ >= end) return false;
    filled_locally_ = end;
    return true;
  }
  void post(const PatStep& step, size_t count) {
    if (PatPeer* destination = find(destinations_, step.send_dim); destination != nullptr && step.post_send) {
      Connection& connection = *destination->connection;
      if (connection.fifo != nullptr) {
        tell_size(&connection.fifo[destination->step % kSteps],
                  (static_cast<size_t>(step.send_offset) + count) * element_);
      }
      connection.step = ++destination->step;
      store_release(connection.tail, destination->step);
    }
    if (PatPeer* source = find(sources_, step.recv_dim); source != nullptr && step.post_recv) {
      source->connection->step = ++source->step;
      store_release(source->connection->head, source->step);
    }
    block_.scheduler->progressed();
  }

  Block& block_;
  const char* in_;
  char* out_;
  const size_t element_;
  const Reduction reduction_;
  Peers sources_, destinations_;
  uint64_t filled_locally_ = 0;
};

}  // namespace

Task run_pat(Block& block, CollectiveWork work, Function function, const DeviceImage& image) {
  const Part part = part_of(work, block.channel_id, function);
  const bool gather = function.collective == Collective::kAllGather;
  const PatShape shape{gather,
                       size_of(function.type),
                       part.offset,
                       part.offset + part.size,
                       part.count,
                       static_cast<int>(part.chunk),
                       block.communicator().rank,
                       block.communicator().ranks};
  const std::unique_ptr<void, void (*)(void*)> plan(image.open_pat(shape), image.close_pat);
  PatWork pat(block, work, function);
  for (PatStep step{}; !step.last;) {
    image.next_pat(plan.get(), &step);
    if (step.skipped) continue;
    if (gather) {
      co_await pat.copy(step);
    } else {
      co_await pat.reduce(step);
    }
    if (block.aborted) co_return;
  }
}

}  // namespace weft::emulation::nccl
