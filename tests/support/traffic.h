// Random traffic over one connection, each byte of it checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tests/fabric_fake/random.h"
#include "tests/support/comm_pair.h"

namespace weft::test {

struct TrafficPlan {
  std::size_t groups = 200;  ///< receives; each takes one to max_group messages
  std::size_t max_group = sendrecv::kMaxGroup;
  std::size_t tags = 5;          ///< different ones
  std::size_t max_bytes = 6000;  ///< of a message; half of them are below 64
  double optional = 0.25;        ///< of the receives do not need their completion
  std::size_t ahead = 4;         ///< a send may overtake those of so many receives, of other tags
};

/// Drives both ends in small random steps, as two proxy threads would interleave. The same seed does the same.
class Traffic {
 public:
  /// `comms` must outlive it.
  Traffic(const CommPair& comms, const TrafficPlan& plan, std::uint64_t seed);
  Traffic(Traffic&&) = default;
  Traffic(const Traffic&) = delete;

  /// One small step. False once everything has arrived and been checked, or something went wrong (see error()).
  bool step();
  /// Empty if all is well.
  const std::string& error() const noexcept { return error_; }
  std::uint64_t messages() const noexcept { return messages_; }

 private:
  struct Message {
    std::size_t group;
    int tag;
    std::uint64_t seed;
    std::vector<std::byte> out;
    std::vector<std::byte> in;
    sendrecv::Request* send = nullptr;
    bool sent = false;
  };
  struct Group {
    std::vector<std::unique_ptr<Message>> messages;
    bool optional = false;
    sendrecv::Request* request = nullptr;
    bool posted = false;
    bool received = false;  ///< said to be
  };

  void make_groups();
  void post_receive();
  void post_send();
  void test_receive();
  void test_send();
  void check(const Group& group);
  void retire();
  bool wind_down();
  void fail(std::string what);

  const CommPair& comms_;
  TrafficPlan plan_;
  Random random_;
  std::deque<Group> groups_;  ///< from the oldest not retired on
  std::size_t first_ = 0;     ///< number of groups_.front()
  std::size_t made_ = 0;
  std::vector<Group> detached_;  ///< done for the caller, perhaps not yet for the provider
  std::vector<Message*> sending_;
  std::uint64_t messages_ = 0;
  std::string error_;
};

/// Steps all of them in turn until all have ended; the first error, or an empty text. `limit` as in poll_until.
std::string run(std::vector<Traffic>& traffic, std::chrono::milliseconds limit = std::chrono::seconds(300));

}  // namespace weft::test
