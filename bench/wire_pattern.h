// Ping-pong and streaming between two ranks, over anything that can send and receive messages in order: a plugin's
// pipes or bare libfabric. Templates, so that both are measured by the same code without a call in between.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>

#include "bench/session.h"
#include "bench/socket.h"
#include "weft/post.h"
#include "weft/result.h"

namespace weft::bench {

/// Messages in flight while streaming.
inline constexpr int kStreamDepth = 8;

/// Two one-way connections to the other rank. Message k lives in slot k modulo kStreamDepth of its side's buffer.
template <class T>
concept Wire = requires(T wire, std::size_t bytes) {
  { wire.post_send(bytes) } -> std::same_as<PostStatus>;
  { wire.post_receive(bytes) } -> std::same_as<PostStatus>;
  /// One look for finished operations, or for sends only. kDone: the counts below have grown. kFailed: error() says
  /// why.
  { wire.look() } -> std::same_as<TestStatus>;
  { wire.look_for_sends() } -> std::same_as<TestStatus>;
  { wire.sends_done() } -> std::same_as<std::size_t>;
  { wire.receives_done() } -> std::same_as<std::size_t>;
  { wire.error() } -> std::convertible_to<Error>;
  { wire.what() } -> std::convertible_to<std::string>;
};

/// Rank 0 and rank 1 call the same functions with the same numbers.
template <Wire W>
class WirePattern {
 public:
  WirePattern(W& wire, const Session& session) : wire_(&wire), session_(session) {}

  /// Seconds that a message of `bytes` takes one way: half a round trip, the mean of `iterations`.
  Result<double> latency(std::size_t bytes, int iterations) {
    begin();
    // A receive is always posted before the message that it waits for can have been sent.
    TRY_VOID(receive(bytes));
    TRY_VOID(session_.rendezvous.barrier());
    const auto start = Clock::now();
    for (int i = 0; i < iterations; ++i) {
      const bool last = i + 1 == iterations;
      if (session_.is_first()) TRY_VOID(send(bytes));
      TRY_VOID(wait_receives(1));
      if (!last) TRY_VOID(receive(bytes));
      if (!session_.is_first()) TRY_VOID(send(bytes));
      TRY_VOID(wait_sends(0));
    }
    return seconds_since(start) / iterations / 2;
  }

  /// Seconds that rank 0 needs to send `count` messages of `bytes` with kStreamDepth of them in flight, until the
  /// other side has confirmed the last. The result means nothing on rank 1.
  Result<double> stream(std::size_t bytes, int count) {
    begin();
    if (session_.is_first()) {
      TRY_VOID(receive(kConfirmationBytes));
      TRY_VOID(session_.rendezvous.barrier());
      const auto start = Clock::now();
      for (int i = 0; i < count; ++i) {
        TRY_VOID(wait_sends(kStreamDepth - 1));
        TRY_VOID(send(bytes));
      }
      TRY_VOID(wait_sends(0));
      TRY_VOID(wait_receives(1));
      return seconds_since(start);
    }
    int posted = 0;
    for (; posted < std::min(count, kStreamDepth); ++posted) TRY_VOID(receive(bytes));
    TRY_VOID(session_.rendezvous.barrier());
    for (int i = 0; i < count; ++i) {
      TRY_VOID(wait_receives(1));
      if (posted < count) {
        TRY_VOID(receive(bytes));
        ++posted;
      }
    }
    TRY_VOID(send(kConfirmationBytes));
    TRY_VOID(wait_sends(0));
    return 0.0;
  }

  /// Both ranks send each other kStreamDepth messages at once.
  Status swap(std::size_t bytes) {
    begin();
    for (int i = 0; i < kStreamDepth; ++i) TRY_VOID(receive(bytes));
    TRY_VOID(session_.rendezvous.barrier());
    for (int i = 0; i < kStreamDepth; ++i) TRY_VOID(send(bytes));
    // Looks for both: the other rank's sends may not move before our receives are asked about, and the other way round.
    TRY_VOID(wait_receives(kStreamDepth));
    return wait_sends(0);
  }

 private:
  static constexpr std::size_t kConfirmationBytes = 1;

  static double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  void begin() {
    sends_posted_ = wire_->sends_done();
    receives_taken_ = wire_->receives_done();
  }

  Status receive(std::size_t bytes) {
    return repeat([&] { return wire_->post_receive(bytes); });
  }

  Status send(std::size_t bytes) {
    ++sends_posted_;
    return repeat([&] { return wire_->post_send(bytes); });
  }

  /// Posts until it is posted, looking for what is under way in between.
  template <class Post>
  Status repeat(Post post) {
    PostStatus status;
    while ((status = post()) == PostStatus::kAgain) TRY_VOID(turn(wire_->look()));
    if (status == PostStatus::kFailed) return std::unexpected(wire_->error());
    return {};
  }

  /// Until `count` more messages have arrived than those taken before.
  Status wait_receives(std::size_t count) {
    receives_taken_ += count;
    while (wire_->receives_done() < receives_taken_) TRY_VOID(turn(wire_->look()));
    return {};
  }

  /// Until at most `left` sends are in flight.
  Status wait_sends(std::size_t left) {
    while (wire_->sends_done() + left < sends_posted_) TRY_VOID(turn(wire_->look_for_sends()));
    return {};
  }

  Status turn(TestStatus status) {
    if (status == TestStatus::kFailed) return std::unexpected(wire_->error());
    if (status == TestStatus::kDone) {
      session_.idle.moved();
    } else if (!session_.idle.keep_waiting()) {
      return std::unexpected(session_.idle.error(wire_->what()));
    }
    return {};
  }

  W* wire_;
  Session session_;
  std::size_t sends_posted_ = 0;
  std::size_t receives_taken_ = 0;
};

}  // namespace weft::bench
