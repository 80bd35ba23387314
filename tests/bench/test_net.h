// A net plugin over TCP sockets on the loopback device, to test weft-bench without Weft. It does what NCCL asks for,
// slowly and simply, and misbehaves on demand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "weft/nccl/net_common.h"

namespace weft::test_net {

inline constexpr int kMaxReceives = 8;
/// Requests that one communicator takes before it says "try later".
inline constexpr std::size_t kMaxRequests = 32 * kMaxReceives;

/// Faults, from WEFT_TEST_NET_* variables; numbers count the messages of this process from 1, 0 means never. Only in
/// the process of rank WEFT_TEST_NET_RANK, if that is set (the rank is read from the command line).
struct Faults {
  int corrupt_at = 0;  ///< flips a bit of this received message
  int drop_at = 0;     ///< leaves the buffer of this received message as it was
  int shorten_at = 0;  ///< reports this received message one byte shorter than it was
  int fail_at = 0;     ///< this isend fails
  int kill_at = 0;     ///< this isend kills the process
  int hang_at = 0;     ///< from this isend on, nothing completes
  bool busy = false;   ///< every second isend and irecv says "try later"
  bool deaf = false;   ///< on every rank: a peer that dies is not noticed
  bool no_device = false;
  bool fail_init = false;

  static const Faults& get();
};

struct Comm;

struct Request {
  Comm* comm = nullptr;
  bool in_use = false;
  bool done = false;
  int parts = 0;   ///< buffers
  int filled = 0;  ///< of them complete
  int tags[kMaxReceives] = {};
  std::byte* data[kMaxReceives] = {};
  std::size_t sizes[kMaxReceives] = {};  ///< room, then bytes that came
  bool taken[kMaxReceives] = {};
};

/// Goes before each message.
struct Header {
  std::uint64_t size;
  std::int32_t tag;
  std::int32_t reserved;
};

/// One direction of one connection. One thread.
struct Comm {
  int fd = -1;
  bool sends = false;
  std::vector<Request> pool = std::vector<Request>(kMaxRequests);
  std::deque<Request*> posted;  ///< in order, not yet complete
  Header header{};              ///< of the message under way
  std::size_t moved = 0;        ///< bytes of header and message that have passed
  Request* target = nullptr;    ///< where the message under way goes
  int target_part = 0;
  bool failed = false;

  Request* acquire();
  void progress();

 private:
  void progress_send();
  void progress_receive();
  bool find_target();
  void finish_message();
  ssize_t transfer(void* data, std::size_t size) const;
};

}  // namespace weft::test_net
