#include <algorithm>

#include "tests/emulation/cuda/nccl/collectives.h"

namespace weft::emulation::nccl {
namespace {

// One direction of the tree, or both at the root.
Task run_leg(Block& block, CollectiveWork work, Function function, bool up, bool down) {
  const Tree& tree = block.channel->tree;
  const size_t element = size_of(function.type);
  const Reduction reduction = reduction_of(work, function);
  const Part part = part_of(work, block.channel_id, function);
  const bool root = tree.up == -1;
  std::vector<Connection*> from_parent, to_parent, from_children, to_children;
  if (!root) {
    from_parent.push_back(&block.channel->peers[tree.up]->recv[0]);
    to_parent.push_back(&block.channel->peers[tree.up]->send[0]);
  }
  for (const int child : tree.down) {
    if (child == -1) break;
    from_children.push_back(&block.channel->peers[child]->recv[0]);
    to_children.push_back(&block.channel->peers[child]->send[0]);
  }
  const bool leaf = from_children.empty();
  const Shape shape{1, 1, static_cast<size_t>(block.communicator().buffer_sizes[kProtocolSimple]) / kSteps,
                    function.ll};
  Primitives primitives(block, up ? from_children : from_parent, down ? to_children : to_parent, shape, element,
                        &reduction);
  for (size_t done = 0; done < part.size; done += part.chunk) {
    const size_t at = (part.offset + done) * element;
    Transfer transfer;
    transfer.receive = root || !up || !leaf;
    transfer.send = root || up || !leaf;
    if (up) transfer.own = work.send_buffer + at;
    if (down) transfer.keep = work.recv_buffer + at;
    transfer.last = root;
    co_await primitives.move(transfer, static_cast<ssize_t>(std::min(part.chunk, part.size - done)));
    if (block.aborted) co_return;
  }
  co_await primitives.finish();
}

}  // namespace

Task run_tree(Block& block, CollectiveWork work, Function function) {
  if (block.channel->tree.up == -1) {
    co_await run_leg(block, work, function, true, true);
    co_return;
  }
  const Fiber* up = block.scheduler->spawn(run_leg(block, work, function, true, false));
  const Fiber* down = block.scheduler->spawn(run_leg(block, work, function, false, true));
  while (!up->done || !down->done) co_await kYield;
}

}  // namespace weft::emulation::nccl
