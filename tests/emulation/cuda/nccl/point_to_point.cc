#include <algorithm>
#include <cstring>

#include "tests/emulation/cuda/nccl/collectives.h"

namespace weft::emulation::nccl {
namespace {

constexpr size_t kPartUnit = 4096;

// A chunk size in a byte: 5 bits of exponent, 3 of mantissa.
size_t chunk_of(uint8_t code) {
  const size_t exponent = code >> 3;
  const size_t mantissa = code & 7;
  return exponent != 0 ? (mantissa | 8) << (exponent - 1) : mantissa;
}

}  // namespace

Task run_point_to_point(Block& block, PointToPointWork work, bool is_send) {
  const Communicator& communicator = block.communicator();
  const size_t parts = is_send ? work.send_channels : work.recv_channels;
  const auto part = static_cast<size_t>((block.channel_id - work.channel_base) & (work.channels - 1));
  if (part >= parts) co_return;
  const size_t bytes = is_send ? work.send_bytes : work.recv_bytes;
  const size_t part_bytes = ((bytes + parts - 1) / parts + kPartUnit - 1) / kPartUnit * kPartUnit;
  const size_t begin = std::min(part * part_bytes, bytes);
  const size_t length = std::min((part + 1) * part_bytes, bytes) - begin;
  char* const buffer = (is_send ? work.send_address : work.recv_address) + begin;
  if (work.send_rank == communicator.rank) {  // to itself: the sending side copies
    if (is_send) memmove(work.recv_address + begin, buffer, length);
    block.scheduler->progressed();
    co_return;
  }
  ChannelPeer* peer = block.channel->peers[is_send ? work.send_rank : work.recv_rank];
  Connection* connection = is_send ? &peer->send[1] : &peer->recv[1];
  const bool registered = is_send ? work.send_registered : work.recv_registered;
  const size_t chunk = registered ? kMaxNetSize : chunk_of(is_send ? work.send_chunk_code : work.recv_chunk_code);
  const Shape shape{1, 1, registered ? kMaxNetSize : static_cast<size_t>(communicator.p2p_chunk_size),
                    is_send ? work.send_ll != 0 : work.recv_ll != 0};
  std::vector<Connection*> sources, destinations;
  (is_send ? destinations : sources).push_back(connection);
  Primitives primitives(block, sources, destinations, shape, 1, nullptr, registered);
  size_t done = 0;
  do {  // an empty message is a step, too
    const size_t now = std::min(chunk, length - done);
    Transfer transfer{.receive = !is_send, .send = is_send};
    if (is_send) {
      transfer.own = buffer + done;
    } else {
      transfer.keep = buffer + done;
    }
    co_await primitives.move(transfer, static_cast<ssize_t>(now));
    if (block.aborted) co_return;
    done += now;
  } while (done < length);
  co_await primitives.finish();
}

}  // namespace weft::emulation::nccl
