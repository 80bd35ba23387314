// Random traffic over one connection, each byte of it checked, also those that must not have been written.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tests/fabric_fake/random.h"
#include "tests/support/arena.h"
#include "tests/support/link.h"

namespace weft::soak {

using test::Random;

struct StreamPlan {
  std::size_t groups = 200;  ///< receives; each takes one to max_group messages
  std::size_t max_group = bench::kMaxSubReceives;
  std::size_t tags = 5;  ///< different ones
  std::size_t max_bytes = std::size_t{2} << 20;
  double optional = 0;        ///< of the receives do not need their completion
  std::size_t left_open = 0;  ///< receives at the end that nobody sends to
};

/// Drives both ends of a connection in small random steps, as two proxy threads would interleave.
class Stream {
 public:
  static Result<std::unique_ptr<Stream>> make(bench::NetPlugin& plugin, int from, int to, const StreamPlan& plan,
                                              std::uint64_t seed);

  /// One small step. False once everything has arrived and been checked, or something went wrong (see error()).
  bool step();
  /// Empty if all is well.
  const std::string& error() const noexcept { return error_; }
  std::uint64_t messages() const noexcept { return messages_; }
  std::size_t receives() const noexcept { return first_; }
  /// How far it is, for an error that says that it goes no further.
  std::string text() const;

 private:
  struct Message {
    std::size_t group;
    int tag;
    std::uint64_t seed;
    std::size_t size;
    std::size_t room;
    std::uint64_t place;  ///< in the arena
    void* request = nullptr;
    bool sent = false;
  };
  struct Group {
    std::vector<std::unique_ptr<Message>> messages;
    bool optional = false;
    void* request = nullptr;
    bool posted = false;
    bool received = false;  ///< said to be
    bool checked = false;
  };

  Stream(std::unique_ptr<Link> link, const StreamPlan& plan, std::uint64_t seed)
      : link_(std::move(link)), plan_(plan), random_(seed) {}

  void make_groups();
  bool make_group();
  std::size_t random_size();
  void post_receive();
  void post(Group& group);
  void post_send();
  Message* choose();
  bool is_next(const Message& message) const;
  void test_receive();
  void test_send();
  void check_data(Group& group);
  void retire();
  void leave_open();
  void fail(std::string what);
  bool went_well(const char* call, nccl::ncclResult_t result);
  bench::NetPlugin& plugin() const { return link_->plugin(); }

  std::unique_ptr<Link> link_;
  std::unique_ptr<Arena> arena_;
  StreamPlan plan_;
  Random random_;
  std::deque<Group> groups_;  ///< from the oldest not retired on
  std::size_t first_ = 0;     ///< number of groups_.front()
  std::size_t made_ = 0;
  std::vector<Message*> sending_;
  std::uint64_t messages_ = 0;
  bool ended_ = false;
  std::string error_;
};

}  // namespace weft::soak
