#include <algorithm>

#include "tests/emulation/cuda/nccl/collectives.h"

namespace weft::emulation::nccl {
namespace {

// A ring that is being worked on, seen from this rank.
class RingWork {
 public:
  RingWork(Block& block, const CollectiveWork& work, const Function& function)
      : block_(block),
        work_(work),
        ring_(block.channel->ring),
        ranks_(static_cast<size_t>(block.communicator().ranks)),
        element_(size_of(function.type)),
        reduction_(reduction_of(work, function)),
        part_(part_of(work, block.channel_id, function)),
        primitives_(block, {&block.channel->peers[ring_.prev]->recv[0]}, {&block.channel->peers[ring_.next]->send[0]},
                    shape(function), element_, &reduction_, registered(function)) {
    if (gather_by_network(function)) part_.chunk = kMaxNetSize / element_;
  }

  Task all_reduce() {
    const ssize_t ranks = static_cast<ssize_t>(ranks_);
    size_t chunk = part_.chunk;
    for (size_t done = 0; done < part_.size; done += ranks_ * part_.chunk) {
      const size_t left = part_.size - done;
      if (left < ranks_ * part_.chunk) {
        const size_t unit = 16 / element_;
        chunk = ((left + ranks_ - 1) / ranks_ + unit - 1) / unit * unit;
      }
      // First the sums travel: n - 1 hops, the last rank of each chunk completes it. Then the results.
      for (ssize_t hop = 1; hop < 2 * ranks; ++hop) {
        const size_t position = static_cast<size_t>(ring_.index + 2 * ranks - hop) % ranks_;
        const size_t offset = position * chunk;
        const ssize_t count =
            std::min(static_cast<ssize_t>(chunk), static_cast<ssize_t>(left) - static_cast<ssize_t>(offset));
        const size_t at = part_.offset + done + offset;
        Transfer transfer{.receive = hop > 1, .send = hop < 2 * ranks - 1};
        if (hop <= ranks) transfer.own = in(at);
        if (hop >= ranks) transfer.keep = out(at);
        if (hop > 1) transfer.registered = out(at);
        transfer.last = hop == ranks;
        co_await primitives_.move(transfer, count);
        if (block_.aborted) co_return;
      }
    }
    co_await primitives_.finish();
  }

  Task all_gather() {
    for (size_t done = 0; done < part_.size; done += part_.chunk) {
      const auto count = static_cast<ssize_t>(std::min(part_.chunk, part_.size - done));
      const size_t at = part_.offset + done;
      for (size_t hop = 0; hop < ranks_; ++hop) {
        char* place = out(at + static_cast<size_t>(ring_.user_ranks[(ranks_ - hop) % ranks_]) * part_.count);
        Transfer transfer{.receive = hop > 0, .send = hop < ranks_ - 1};
        if (hop == 0) {
          transfer.own = in(at);
          if (in(at) != place) transfer.keep = place;
        } else {
          transfer.keep = transfer.registered = place;
        }
        co_await primitives_.move(transfer, count);
        if (block_.aborted) co_return;
      }
    }
    co_await primitives_.finish();
  }

  Task reduce_scatter() {
    for (size_t done = 0; done < part_.size; done += part_.chunk) {
      const auto count = static_cast<ssize_t>(std::min(part_.chunk, part_.size - done));
      const size_t at = part_.offset + done;
      for (size_t hop = 1; hop <= ranks_; ++hop) {
        Transfer transfer{.receive = hop > 1, .send = hop < ranks_};
        transfer.own = in(at + static_cast<size_t>(ring_.user_ranks[ranks_ - hop]) * part_.count);
        if (hop == ranks_) transfer.keep = out(at);
        transfer.last = hop == ranks_;
        co_await primitives_.move(transfer, count);
        if (block_.aborted) co_return;
      }
    }
    co_await primitives_.finish();
  }

  Task broadcast() {
    const bool root = ring_.user_ranks[0] == static_cast<int>(work_.root);
    const bool end = ring_.user_ranks[1] == static_cast<int>(work_.root);
    for (size_t done = 0; done < part_.size; done += part_.chunk) {
      const size_t at = part_.offset + done;
      Transfer transfer{.receive = !root, .send = !end};
      if (root) {
        transfer.own = in(at);
        if (in(at) != out(at)) transfer.keep = out(at);
      } else {
        transfer.keep = transfer.registered = out(at);
      }
      co_await primitives_.move(transfer, static_cast<ssize_t>(std::min(part_.chunk, part_.size - done)));
      if (block_.aborted) co_return;
    }
    co_await primitives_.finish();
  }

  Task reduce() {
    const bool first = ring_.user_ranks[ranks_ - 1] == static_cast<int>(work_.root);
    const bool root = ring_.user_ranks[0] == static_cast<int>(work_.root);
    for (size_t done = 0; done < part_.size; done += part_.chunk) {
      const size_t at = part_.offset + done;
      Transfer transfer{.receive = !first, .send = !root, .own = in(at)};
      if (root) transfer.keep = out(at);
      transfer.last = root;
      co_await primitives_.move(transfer, static_cast<ssize_t>(std::min(part_.chunk, part_.size - done)));
      if (block_.aborted) co_return;
    }
    co_await primitives_.finish();
  }

 private:
  // With registered buffers and one rank on each node, the kernel of a gather only drives the network.
  bool gather_by_network(const Function& function) const {
    return work_.net_registered && work_.one_rank_per_node && function.collective == Collective::kAllGather;
  }
  bool registered(const Function& function) const {
    return work_.net_registered && function.collective != Collective::kReduceScatter &&
           function.collective != Collective::kReduce;
  }
  Shape shape(const Function& function) const {
    const bool gather = gather_by_network(function);
    const bool pipelined = function.collective == Collective::kBroadcast || function.collective == Collective::kReduce;
    const int unit = pipelined || gather ? 1 : 2;
    const size_t step = static_cast<size_t>(block_.communicator().buffer_sizes[kProtocolSimple]) / kSteps;
    return Shape{unit, unit, gather ? kMaxNetSize : step, function.ll};
  }
  const char* in(size_t element) const { return work_.send_buffer + element * element_; }
  char* out(size_t element) const { return work_.recv_buffer + element * element_; }

  Block& block_;
  const CollectiveWork& work_;
  const Ring& ring_;
  const size_t ranks_, element_;
  const Reduction reduction_;
  Part part_;
  Primitives primitives_;
};

}  // namespace

Part part_of(const CollectiveWork& work, int channel, const Function& function) {
  const size_t grain = (function.ll ? kGrainLl : kGrainSimple) / size_of(function.type);
  const int low = static_cast<int>(work.channel_low);
  const int high = static_cast<int>(work.channel_high);
  const auto between = static_cast<size_t>(std::max(high - low - 1, 0));
  const size_t count = work.count_low + work.count_middle * between + work.count_high;
  if (channel == low) return {count, 0, work.count_low, work.grains_low * grain};
  const size_t before = work.count_low + work.count_middle * static_cast<size_t>(channel - low - 1);
  if (channel == high) return {count, before, work.count_high, work.grains_high * grain};
  return {count, before, work.count_middle, work.grains_middle * grain};
}

Task run_ring(Block& block, CollectiveWork work, Function function) {
  RingWork ring(block, work, function);
  switch (function.collective) {
    case Collective::kAllReduce: co_await ring.all_reduce(); break;
    case Collective::kAllGather: co_await ring.all_gather(); break;
    case Collective::kReduceScatter: co_await ring.reduce_scatter(); break;
    case Collective::kBroadcast: co_await ring.broadcast(); break;
    case Collective::kReduce: co_await ring.reduce(); break;
    default: break;  // prepare_kernel let nothing else through
  }
}

}  // namespace weft::emulation::nccl
