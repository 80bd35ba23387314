// The memory behind a wire: kStreamDepth slots on each side, filled and checked like all benchmark data.
#pragma once

#include <cstddef>
#include <span>

#include "bench/buffer.h"
#include "bench/pattern.h"
#include "bench/wire_pattern.h"
#include "weft/result.h"

namespace weft::bench {

struct WireBuffers {
  Buffer send;
  Buffer receive;
  std::size_t stride = 0;  ///< bytes from one slot to the next

  /// Room for messages of up to `bytes`.
  static Result<WireBuffers> allocate(std::size_t bytes) {
    constexpr std::size_t kPage = 4096;
    WireBuffers buffers;
    buffers.stride = (bytes + kPage - 1) / kPage * kPage;
    TRY(buffers.send, Buffer::allocate(kStreamDepth * buffers.stride));
    TRY(buffers.receive, Buffer::allocate(kStreamDepth * buffers.stride));
    return buffers;
  }

  std::byte* send_slot(std::size_t message) const { return send.data() + message % kStreamDepth * stride; }
  std::size_t receive_offset(std::size_t message) const { return message % kStreamDepth * stride; }
  std::byte* receive_slot(std::size_t message) const { return receive.data() + message % kStreamDepth * stride; }

  /// Writes what `self` sends into every slot, and spoils what it receives.
  void fill(int self, std::size_t bytes, std::uint64_t iteration) const {
    for (std::size_t slot = 0; slot < kStreamDepth; ++slot) {
      fill_stream({send_slot(slot), bytes}, seed(self, slot, iteration));
      poison_stream({receive_slot(slot), bytes}, seed(1 - self, slot, iteration));
    }
  }

  /// Bytes that are not what the other rank sent. Messages arrive in order, so each lies in the slot that it left from.
  std::size_t wrong(int self, std::size_t bytes, std::uint64_t iteration) const {
    std::size_t count = 0;
    for (std::size_t slot = 0; slot < kStreamDepth; ++slot) {
      count += count_wrong({receive_slot(slot), bytes}, seed(1 - self, slot, iteration));
    }
    return count;
  }

 private:
  static std::uint64_t seed(int sender, std::size_t slot, std::uint64_t iteration) {
    return stream_seed(static_cast<std::uint64_t>(sender), slot, iteration);
  }
};

}  // namespace weft::bench
