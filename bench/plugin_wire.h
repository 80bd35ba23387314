// A wire over a plugin: one sending and one receiving pipe to the other rank.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "bench/contender.h"
#include "bench/wire_buffers.h"
#include "weft/result.h"

namespace weft::bench {

/// With `sub_receives` above 1, a message is that many sends with tags of their own, met by one grouped receive.
class PluginWire {
 public:
  static Result<std::unique_ptr<PluginWire>> create(Contender& contender, int peer, std::size_t bytes,
                                                    int sub_receives);

  PostStatus post_send(std::size_t bytes);
  PostStatus post_receive(std::size_t bytes) {
    const PostStatus status =
        receive_->post_group(receive_region_, buffers_.receive_slot(receives_posted_), bytes, sub_receives_, 0);
    if (status == PostStatus::kPosted) ++receives_posted_;
    return status;
  }

  TestStatus progress() {
    const TestStatus received = receive_->poll();
    const TestStatus sent = send_->poll();
    if (received == TestStatus::kFailed || sent == TestStatus::kFailed) return TestStatus::kFailed;
    receives_done_ += received == TestStatus::kDone ? 1 : 0;
    parts_done_ += sent == TestStatus::kDone ? 1 : 0;
    return received == TestStatus::kDone || sent == TestStatus::kDone ? TestStatus::kDone : TestStatus::kPending;
  }

  std::size_t sends_done() const { return parts_done_ / static_cast<std::size_t>(sub_receives_); }
  std::size_t receives_done() const { return receives_done_; }
  std::string what() const { return receive_->in_flight() > 0 ? receive_->what() : send_->what(); }
  Error error() const { return send_->error().what.empty() ? receive_->error() : send_->error(); }

  const WireBuffers& buffers() const { return buffers_; }

 private:
  PluginWire(Pipe& send, Pipe& receive, WireBuffers buffers, int sub_receives)
      : send_(&send), receive_(&receive), buffers_(std::move(buffers)), sub_receives_(sub_receives) {}

  Pipe* send_;
  Pipe* receive_;
  WireBuffers buffers_;
  int sub_receives_;
  int send_region_ = 0;
  int receive_region_ = 0;
  std::size_t parts_posted_ = 0;  ///< single sends
  std::size_t parts_done_ = 0;
  std::size_t receives_posted_ = 0;
  std::size_t receives_done_ = 0;
};

}  // namespace weft::bench
