// The connections from or to one peer, used in turn: message k travels on connection k modulo their number. Requests
// are kept in order, and a bounded number of them in flight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/net_plugin.h"
#include "weft/post.h"
#include "weft/result.h"

namespace weft::bench {

/// One thread. Errors stick: after kFailed, error() says what failed and the pipe is of no more use.
class Pipe {
 public:
  enum class Direction : std::uint8_t { kSend, kReceive };

  /// Takes the communicators over. `depth`: messages in flight per communicator.
  Pipe(NetPlugin& plugin, Direction direction, int peer, std::vector<void*> comms, int depth);
  ~Pipe();
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  /// Registers memory with every communicator. The result names it in post().
  Result<int> add_region(std::byte* data, std::size_t bytes);

  /// Starts a message of `bytes` at `data` inside a region. kAgain: too many in flight, or the plugin is busy.
  PostStatus post(int region, std::byte* data, std::size_t bytes, int tag = 0) {
    return post_group(region, data, bytes, 1, tag);
  }

  /// Starts a grouped receive of `count` messages of `bytes` each, one behind the other, with tags from `tag` on. On a
  /// sending pipe, `count` must be 1.
  PostStatus post_group(int region, std::byte* data, std::size_t bytes, int count, int tag);

  /// Asks after the oldest message in flight. kDone: it is complete, and had the right size. kPending where none is.
  TestStatus poll();

  int peer() const { return peer_; }
  std::size_t in_flight() const { return posted_ - done_; }
  /// How many messages may be in flight in all.
  std::size_t capacity() const { return slots_.size(); }

  /// "receive from rank 3".
  std::string what() const;
  const Error& error() const { return error_; }

  /// Deregisters, closes, and reports what the plugin says to it. Nothing may be in flight.
  Status close();

 private:
  struct Slot {
    void* request = nullptr;
    std::size_t bytes = 0;  ///< of one message
    int count = 0;          ///< of the group
  };
  /// Registered memory: one handle per communicator.
  struct Region {
    std::vector<void*> handles;
  };

  static std::size_t after(std::size_t index, std::size_t count) { return index + 1 == count ? 0 : index + 1; }
  TestStatus finish(const Slot& slot, const int* sizes);
  void set_error(const char* call, nccl::ncclResult_t result);

  NetPlugin* plugin_;
  Direction direction_;
  int peer_;
  std::vector<void*> comms_;
  std::vector<Slot> slots_;
  std::vector<Region> regions_;
  std::size_t posted_ = 0;
  std::size_t done_ = 0;
  // Counted round and round: a division costs as much as some plugins' whole test().
  std::size_t next_comm_ = 0;  ///< takes the next message
  std::size_t next_slot_ = 0;  ///< keeps it
  std::size_t oldest_slot_ = 0;
  Error error_{Code::kInternal, 0, ""};
};

}  // namespace weft::bench
