// What the receiver writes into the sender's memory: for each message, where it may go.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "transports/rdma/early_message.h"
#include "transports/rdma/immediate.h"

namespace weft::rdma {

/// NCCL has at most NCCL_NET_MAX_REQUESTS = 32 receives in flight on a communicator (net.h), of up to 8 buffers.
inline constexpr std::size_t kMaxGroup = 8;
inline constexpr std::size_t kRecvRequests = 32;
inline constexpr std::size_t kSendRequests = kRecvRequests * kMaxGroup;

// The receiver fills its ring in order and never skips a slot in use, so the messages under way lie within
// kRecvRequests consecutive sequence numbers: the immediate's bits tell them apart, with as much room again for the
// tests that reject what is out of the window.
static_assert(kRecvRequests * 2 <= kSequenceMask + 1);

constexpr std::size_t slot_of(std::uint32_t sequence) noexcept { return sequence % kRecvRequests; }

enum class EntryState : std::uint8_t {
  kOpen = 1,  ///< the buffer waits for its message
  kDone = 2,  ///< it has come; an answer to a sender that asked
};

/// Permission to write one buffer. Written as a whole into the sender's mailbox, possibly while the sender reads it;
/// `sequence` at the front and `seal` at the end, which depends on all that can change, tell whether it is complete: a
/// copy that goes up or down through the 64 bytes cannot leave both ends new and the middle old.
struct alignas(64) ClearToSend {
  std::uint32_t sequence = 0;  ///< of the message, counted from 1
  std::uint8_t count = 0;      ///< buffers of this receive
  std::uint8_t generation = 0;
  EntryState state = EntryState::kOpen;
  std::uint8_t early = 0;                       ///< kEarlyCountMask, kTakesEarly
  std::uint64_t address = 0;                    ///< of the buffer, as the receiver's provider wants it
  std::array<std::uint32_t, kMaxRails> keys{};  ///< of its registration, per rail of the receiver
  std::uint32_t size = 0;                       ///< bytes
  std::int32_t tag = 0;
  std::uint32_t cookie = 0;  ///< the sender's own, so that a write meant for a predecessor is not believed
  std::uint32_t seal = 0;

  std::uint32_t right_seal() const noexcept {
    std::uint32_t changing;
    std::memcpy(&changing, &count, sizeof changing);  // and generation, state, early
    return (sequence * 2654435761U) ^ changing;
  }
};
static_assert(sizeof(ClearToSend) == 64 && offsetof(ClearToSend, seal) == 60 && offsetof(ClearToSend, sequence) == 0);
static_assert(offsetof(ClearToSend, count) == 4 && offsetof(ClearToSend, address) == 8,
              "right_seal() takes it as a word");

/// One connection's share of registered memory, the same on both sides. The sender's: `entries` is its mailbox, and
/// `landing` is where it reads into. The receiver's: `entries` is what it writes from, `done` what the sender reads.
/// `sizes` goes from the sender's to the receiver's.
struct Block {
  ClearToSend entries[kRecvRequests][kMaxGroup];
  /// Per slot, the last sequence number that has been received in full.
  std::uint32_t done[kRecvRequests];
  std::uint32_t landing[kRecvRequests];
  /// Bytes of each message, where the provider does not say how many have arrived (Adapter::reports_sizes).
  std::uint32_t sizes[kRecvRequests][kMaxGroup];
  /// The sender's: what it sends from. The receiver's: what peers write into.
  EarlyMessage early[kEarlySlots];
};
static_assert(sizeof(Block) == 21 * 1024 + 256, "memory per connection and side");
static_assert(kEarlySlots <= kMaxGroup, "their numbers take the buffer's place in the immediate");

/// Whether `entry`, which the peer may be writing, is a complete permission for message `sequence` of `cookie`.
inline bool is_complete(const ClearToSend& entry, std::uint32_t sequence, std::uint32_t cookie) noexcept {
  auto& words = const_cast<ClearToSend&>(entry);
  if (std::atomic_ref(words.sequence).load(std::memory_order_acquire) != sequence) return false;
  const std::uint32_t seal = std::atomic_ref(words.seal).load(std::memory_order_acquire);
  return seal == entry.right_seal() && entry.cookie == cookie && entry.count >= 1 && entry.count <= kMaxGroup;
}

}  // namespace weft::rdma
