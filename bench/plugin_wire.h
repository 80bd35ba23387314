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
  /// `buffers` must outlive the wire.
  static Result<std::unique_ptr<PluginWire>> create(Contender& contender, int peer, const WireBuffers& buffers,
                                                    int sub_receives);

  PostStatus post_send(std::size_t bytes);
  PostStatus post_receive(std::size_t bytes) {
    const PostStatus status =
        receive_->post_group(receive_region_, buffers_->receive_slot(receives_posted_), bytes, sub_receives_, 0);
    if (status == PostStatus::kPosted) ++receives_posted_;
    return status;
  }

  TestStatus look_for_sends() {
    const TestStatus status = send_->poll();
    if (status == TestStatus::kDone && ++parts_done_ == sub_receives_) {
      parts_done_ = 0;
      ++sends_done_;
    }
    return status;
  }
  TestStatus look() {
    const TestStatus received = receive_->poll();
    receives_done_ += received == TestStatus::kDone ? 1 : 0;
    if (received == TestStatus::kFailed) return received;
    const TestStatus sent = look_for_sends();
    return sent == TestStatus::kPending ? received : sent;
  }

  std::size_t sends_done() const { return sends_done_; }
  std::size_t receives_done() const { return receives_done_; }
  std::string what() const { return receive_->in_flight() > 0 ? receive_->what() : send_->what(); }
  Error error() const { return send_->error().what.empty() ? receive_->error() : send_->error(); }

 private:
  PluginWire(Pipe& send, Pipe& receive, const WireBuffers& buffers, int sub_receives)
      : send_(&send), receive_(&receive), buffers_(&buffers), sub_receives_(sub_receives) {}

  Pipe* send_;
  Pipe* receive_;
  const WireBuffers* buffers_;
  int sub_receives_;
  int send_region_ = 0;
  int receive_region_ = 0;
  int parts_posted_ = 0;  ///< of the message being posted
  int parts_done_ = 0;    ///< of the oldest message in flight
  std::size_t sends_posted_ = 0;
  std::size_t sends_done_ = 0;
  std::size_t receives_posted_ = 0;
  std::size_t receives_done_ = 0;
};

}  // namespace weft::bench
