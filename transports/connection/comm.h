// What the two ends of a connection have in common: device, peer, the one sticky error, and the check that the peer
// is still there while somebody waits.
#pragma once

#include <cstdint>
#include <string>

#include "transports/connection/device.h"
#include "transports/connection/registry.h"
#include "weft/result.h"

namespace weft {

/// Errors that say the other process cannot be reached, as opposed to something wrong with one message.
bool means_unreachable(int error) noexcept;

/// Which message an error is about.
struct MessageLabel {
  int tag;
  std::uint32_t sequence;
  std::size_t size;  ///< bytes, as this side knows it
};

/// Wants the device's lock unless a function says otherwise.
class Comm : public Addressable {
 public:
  ~Comm() override;

  /// Any thread, any time.
  Device& device() const noexcept { return device_; }
  Peer& peer() const noexcept { return *peer_; }

  bool failed() const noexcept { return failed_; }
  /// Closed by its owner.
  bool left() const noexcept { return left_; }
  /// Why calls fail. Without the lock: only after one has returned kFailed.
  const Error& error() const noexcept { return error_; }

  bool is_idle() const noexcept override { return in_flight() == 0; }
  void on_peer_failed(const Error& error) override;
  bool on_notice(const Notice& notice) override;

  /// Called while a request waits, as often as the caller likes: most calls only count.
  void waiting() noexcept {
    if ((++idle_polls_ & (kPollsPerCheck - 1)) == 0) [[unlikely]]
      check_peer();
  }

  /// The provider took, or gave back, an operation of this communicator.
  void operation_posted(std::uint64_t count = 1) noexcept { posted_ += count; }
  void operation_ended() noexcept { ++ended_; }
  /// The same for one that moves nothing: it asks what has become of a message. A peer that never answers stalls us.
  void question_posted() noexcept {
    operation_posted();
    ++questions_;
  }
  void question_ended() noexcept {
    operation_ended();
    ++questions_;
  }

  /// An operation failed: decides whether the peer, the communicator or nobody is to blame.
  void operation_failed(const fabric::CompletionError& error, const MessageLabel& message) noexcept;
  /// The same where it is known that nobody else is.
  void message_failed(const fabric::CompletionError& error, const MessageLabel& message) noexcept;

  /// Fails the communicator for good, with one line. Later errors do not replace the first.
  void fail(Error error) noexcept;
  /// The same for the owner's own doing, without a line.
  void give_up(Error error) noexcept;

 protected:
  /// Takes over one reference to `peer`.
  Comm(Device& device, Peer* peer) : device_(device), endpoint_(device.rail().endpoint()), peer_(peer) {
    last_check_ = quiet_since_ = Clock::now();
  }
  /// The lead rail's.
  fabric::Endpoint& endpoint() const noexcept { return endpoint_; }
  /// Makes sure that the peer is still there; the caller has waited for it.
  [[gnu::cold]] virtual void look_for_peer(Clock::time_point now) noexcept;
  /// What a stalled communicator waits for, for one line: "3 operations".
  virtual std::string waits_for() const;
  /// Operations handed to the provider since the start, and those of them that have ended.
  std::uint64_t posted() const noexcept { return posted_; }
  std::uint64_t ended() const noexcept { return ended_; }
  std::uint64_t in_flight() const noexcept { return posted_ - ended_; }
  /// The peer has said that it has closed its end.
  bool peer_closed() const noexcept { return peer_closed_; }
  /// The provider refused a post.
  void post_failed(const char* what, int error) noexcept;
  Notice make_notice(NoticeKind kind) const noexcept;
  void set_remote(Key remote) noexcept { remote_ = remote; }
  /// Leaves the tables and tells the peer; from now on only completions reach this object.
  void leave() noexcept;

 private:
  // About a millisecond of polling: frequent enough for limits given in milliseconds, rare enough to cost nothing.
  static constexpr std::uint32_t kPollsPerCheck = 1024;

  [[gnu::cold]] void check_peer() noexcept;
  void moved(Clock::time_point now) noexcept;
  void worked() noexcept;
  void warn_stalled() noexcept;

  Device& device_;
  fabric::Endpoint& endpoint_;
  Peer* peer_;
  Key remote_ = 0;  ///< the communicator at the other end
  bool failed_ = false;
  bool left_ = false;  ///< closed by its owner: nobody is left to be told of errors
  bool peer_closed_ = false;
  bool warned_ = false;
  std::uint32_t idle_polls_ = 0;
  std::uint64_t posted_ = 0;
  std::uint64_t ended_ = 0;
  std::uint64_t questions_ = 0;    ///< how often these two were counted for a question
  std::uint64_t seen_ = 0;         ///< posted_ + ended_ at the last check
  std::uint64_t work_seen_ = 0;    ///< the same without questions
  Clock::time_point quiet_since_;  ///< when seen_ last changed
  Clock::time_point last_check_;
  Clock::duration waited_{};        ///< how much of the time since work_seen_ changed somebody has been asking
  Clock::time_point closed_since_;  ///< when the peer said that it closed
  std::optional<Notice> unsent_;    ///< an error the peer must hear of
  Error error_{};
};

}  // namespace weft
