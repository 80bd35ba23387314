// What the RDMA transport keeps per device: its lanes, the memory and the peers that its communicators share, and the
// loop that reads the completion queues.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "transports/connection/device.h"
#include "transports/rdma/block_pool.h"
#include "transports/rdma/card.h"
#include "transports/rdma/lane.h"
#include "transports/rdma/paths.h"

namespace weft::rdma {

class RecvComm;
struct RecvRequest;

/// Entries asked for in each completion queue. Nothing may overrun it: EFA does not say so when it happens. It holds
/// what our own operations leave (kLaneDepth), the control channel's (its receives and sends), and what peers' writes
/// leave: at most one per rail for every buffer that has been cleared to send, which is why those are counted
/// (Adapter::grant), and what comes before it has been cleared, for which there is room for so many communicators. The
/// rest, asks and repeats after a failure, is rare.
inline constexpr std::size_t kCqEntries = 8192;
inline constexpr std::size_t kMaxGranted = 4096;
inline constexpr std::size_t kMaxOpenToEarly = 256;
static_assert(kLaneDepth + ControlChannel::kReceives + ControlChannel::kSends + kMaxGranted +
                  kMaxOpenToEarly * kEarlySlots + 1024 <=
              kCqEntries);

/// Completions read at once from one queue.
inline constexpr std::size_t kCompletionBatch = 16;

/// Wants the device's lock.
class Adapter final : public Device::Part {
 public:
  static Result<std::unique_ptr<Adapter>> open(Device& device);

  /// The adapter of a device that this transport has opened.
  static Adapter& of(Device& device) noexcept { return static_cast<Adapter&>(*device.part()); }

  Device& device() const noexcept { return device_; }
  std::span<Lane> lanes() noexcept { return lanes_; }
  bool is_efa() const noexcept { return is_efa_; }
  /// Whether completions of peers' writes say how many bytes came. EFA's do; the socket providers' do not, and there
  /// every message has one stripe more, which carries its size.
  bool reports_sizes() const noexcept { return is_efa_; }
  bool uses_virtual_addresses() const noexcept { return virtual_addresses_; }
  BlockPool& blocks() noexcept { return blocks_; }

  /// kScratchBytes of registered memory that nobody reads.
  std::byte* scratch() const noexcept { return reinterpret_cast<std::byte*>(scratch_.block); }
  /// Per lane.
  const std::array<void*, kMaxRails>& scratch_descriptors() const noexcept { return scratch_.slab->rails.descriptors; }
  std::uint64_t scratch_address() const noexcept { return scratch_.remote_address(virtual_addresses_); }
  /// Per lane.
  const std::array<std::uint32_t, kMaxRails>& scratch_keys() const noexcept { return scratch_.slab->rails.keys; }

  /// This side of a connection, for the peer.
  Card card(const BlockRef& block) const;

  /// The paths to `peer`, made from its card when they are new. One reference more for the caller, to be given back
  /// with Paths::release(). The peer itself is retained.
  Result<Paths*> paths_to(Peer& peer, const Card& card);
  /// Another peer's paths use the same address on the same lane.
  bool shares(const Paths& paths, const Path& path) const noexcept;
  /// Drops the paths that nobody uses any more.
  void sweep() noexcept;

  /// Numbers come round again only after all others have been used.
  Result<std::uint16_t> add(RecvComm& comm);
  void remove(std::uint16_t number) noexcept { receivers_[number] = nullptr; }

  /// Counts buffers that peers may write to. False: as many as the queues can hold are open already.
  bool grant(std::size_t buffers) noexcept {
    if (granted_ + buffers > kMaxGranted) return false;
    granted_ += buffers;
    return true;
  }
  void settle(std::size_t buffers) noexcept { granted_ -= buffers; }

  /// True for as many receivers at a time as may let messages come before their permission.
  bool open_to_early() noexcept {
    if (open_to_early_ == kMaxOpenToEarly) return false;
    ++open_to_early_;
    return true;
  }
  void closed_to_early() noexcept { --open_to_early_; }

  /// The clear-to-send of the youngest receive waits here for the next send, receive or progress(): a send's data goes
  /// first, because the peer has been waiting for it longer. The one held before is written.
  void hold_back(RecvRequest& request) noexcept {
    write_held();
    held_ = &request;
  }
  /// False: there was none.
  bool write_held() noexcept {
    if (held_ == nullptr) return false;
    write(*std::exchange(held_, nullptr));
    return true;
  }
  /// A communicator's requests are about to go.
  void forget_held(const RecvComm& comm) noexcept;

  /// Writes the clear-to-send held back, reads every rail's queue once and tells the owners.
  void progress() noexcept;

  /// Arrivals that fit nothing: late, repeated or forged. For statistics and tests.
  std::uint64_t stray_arrivals() const noexcept { return stray_; }
  void count_stray() noexcept { ++stray_; }

 private:
  explicit Adapter(Device& device);

  static void write(RecvRequest& request) noexcept;
  void complete(Lane& lane, const fabric::Completion& completion) noexcept;
  void arrived(std::uint32_t immediate, std::size_t bytes) noexcept;
  [[gnu::cold, gnu::noinline]] void read_errors(Lane& lane, ssize_t rc) noexcept;

  Device& device_;
  bool is_efa_;
  bool virtual_addresses_;
  BlockPool blocks_;
  BlockRef scratch_;
  std::vector<Lane> lanes_;
  std::vector<RecvComm*> receivers_;
  std::uint16_t next_number_ = 0;
  std::size_t granted_ = 0;
  std::size_t open_to_early_ = 0;
  RecvRequest* held_ = nullptr;
  std::uint64_t stray_ = 0;
  std::vector<std::unique_ptr<Paths>> paths_;
};

}  // namespace weft::rdma
