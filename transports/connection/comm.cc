#include "transports/connection/comm.h"

#include <rdma/fi_errno.h>

#include <algorithm>
#include <cerrno>

#include "weft/log.h"

namespace weft {
bool means_unreachable(int error) noexcept {
  switch (error) {
    case FI_ECONNREFUSED:
    case FI_ECONNRESET:
    case FI_ECONNABORTED:
    case FI_ENOTCONN:
    case FI_ESHUTDOWN:
    case FI_EHOSTUNREACH:
    case FI_EHOSTDOWN:
    case FI_ENETUNREACH:
    case FI_ETIMEDOUT:
    case EPIPE: return true;
    default: return false;
  }
}

Comm::~Comm() {
  device_.registry().remove(*this);
  device_.peers().unwatch(*peer_, *this);
  device_.peers().release(peer_);
}

void Comm::fail(Error error) noexcept {
  if (failed_) return;
  failed_ = true;
  error_ = std::move(error);
  WEFT_WARN("%s", error_.what.c_str());
}

void Comm::give_up(Error error) noexcept {
  if (failed_) return;
  failed_ = true;
  error_ = std::move(error);
}

void Comm::on_peer_failed(const Error& error) {
  if (failed_) return;
  // Said once for the peer, not once for each of its communicators.
  failed_ = true;
  error_ = error;
}

bool Comm::on_notice(const Notice& notice) {
  switch (notice.kind) {
    case NoticeKind::kAlive: return true;
    case NoticeKind::kClosed:
      peer_closed_ = true;
      closed_since_ = Clock::now();
      return true;
    case NoticeKind::kTruncated:
      fail({Code::kTruncated, FI_ETRUNC,
            "a message " +
                (notice.sent_bytes > 0 ? "of " + std::to_string(notice.sent_bytes) + " bytes " : std::string()) +
                "to " + peer_->name() + " (tag " + std::to_string(notice.tag) + ", sequence " +
                std::to_string(notice.sequence) + ") did not fit: the receive there was posted with " +
                std::to_string(notice.posted_bytes) +
                " bytes. The ranks disagree about a size: compare the arguments of the collective on both"});
      return true;
    case NoticeKind::kConsumed: break;  // for senders only
  }
  return false;
}

void Comm::post_failed(const char* what, int error) noexcept {
  if (means_unreachable(error)) {
    device_.peers().fail(*peer_, PeerTable::unreachable(*peer_, device_.rail(), error, ""));
    return;
  }
  fail({Code::kSystem, error,
        std::string(what) + " failed on " + device_.name() + " to peer " + peer_->name() + ": " +
            device_.rail().library().strerror(error) + " (" + std::to_string(error) + ")"});
}

void Comm::operation_failed(const fabric::CompletionError& error, const MessageLabel& message) noexcept {
  const auto& [tag, sequence, size] = message;
  if (left_) return;  // cancelled by us, or of no interest to anybody any more
  if (means_unreachable(error.error)) {
    device_.peers().fail(*peer_, PeerTable::unreachable(*peer_, device_.rail(), error.error, error.text));
    return;
  }
  if (error.error == FI_ETRUNC) {
    const std::size_t sent = error.overflow > 0 ? size + error.overflow : 0;
    fail({Code::kTruncated, FI_ETRUNC,
          "message from " + peer_->name() + " (tag " + std::to_string(tag) + ", sequence " + std::to_string(sequence) +
              ") is longer than the " + std::to_string(size) + " bytes of its receive on " + device_.name() +
              ". The ranks disagree about a size: compare the arguments of the collective on both"});
    unsent_ = make_notice(NoticeKind::kTruncated);
    unsent_->tag = tag;
    unsent_->sequence = sequence;
    unsent_->sent_bytes = sent;
    unsent_->posted_bytes = size;
    if (device_.control().send(*peer_, *unsent_) != PostStatus::kAgain) unsent_.reset();
    return;
  }
  message_failed(error, message);
}

void Comm::message_failed(const fabric::CompletionError& error, const MessageLabel& message) noexcept {
  const auto& [tag, sequence, size] = message;
  fail({Code::kSystem, error.error,
        "an operation on " + device_.name() + " with peer " + peer_->name() + " (tag " + std::to_string(tag) +
            ", sequence " + std::to_string(sequence) + ", " + std::to_string(size) +
            " bytes) failed: " + device_.rail().library().strerror(error.error) + " (" + std::to_string(error.error) +
            "), provider says: " + error.text + " (" + std::to_string(error.provider_error) + ")"});
}

Notice Comm::make_notice(NoticeKind kind) const noexcept {
  Notice notice{};
  notice.header = make_header(ControlType::kNotice, device_.options().transport, sizeof notice, remote_);
  notice.kind = kind;
  return notice;
}

void Comm::check_peer() noexcept {
  if (unsent_ && device_.control().send(*peer_, *unsent_) != PostStatus::kAgain) unsent_.reset();
  if (failed_) return;
  const auto now = Clock::now();
  const auto& options = device_.options();
  // Time in which nobody asked is not waiting: count no gap between two checks as more than a fraction of the limit.
  waited_ += std::min<Clock::duration>(now - last_check_, options.stall_warning / 4);
  last_check_ = now;
  if (posted_ + ended_ != seen_) {
    moved(now);
  } else if (peer_closed_ && now - std::max(quiet_since_, closed_since_) >= options.peer_check) {
    // Not at once: what it sent before it closed may still be on its way, and may be overtaken by the notice.
    fail({Code::kRemote, 0,
          "peer " + peer_->name() + " closed its end of a connection on " + device_.name() +
              " while this side still waits for it: it has ended or aborted; look at its log first"});
    return;
  } else if (now - quiet_since_ >= options.peer_check) {
    look_for_peer(now);
  }
  if (posted_ + ended_ - questions_ != work_seen_) {
    worked();
  } else if (!warned_ && options.stall_warning.count() > 0 && waited_ >= options.stall_warning) {
    warn_stalled();
  }
}

void Comm::look_for_peer(Clock::time_point now) noexcept {
  device_.control().check(*peer_, now, device_.options().peer_check);
}

std::string Comm::waits_for() const { return std::to_string(in_flight()) + " operations"; }

void Comm::moved(Clock::time_point now) noexcept {
  seen_ = posted_ + ended_;
  quiet_since_ = now;
}

void Comm::worked() noexcept {
  work_seen_ = posted_ + ended_ - questions_;
  waited_ = {};
  warned_ = false;
}

void Comm::warn_stalled() noexcept {
  warned_ = true;
  const auto waited = std::chrono::duration_cast<std::chrono::seconds>(waited_).count();
  WEFT_WARN(
      "%s with peer %s on %s have not moved for %lld s; the peer can be reached, so its process is probably stuck or "
      "late: look at its log and stack. This side goes on waiting",
      waits_for().c_str(), peer_->name().c_str(), device_.name().c_str(), static_cast<long long>(waited));
}

void Comm::leave() noexcept {
  left_ = true;
  device_.registry().remove(*this);
  device_.peers().unwatch(*peer_, *this);
  if (peer_->failed() || peer_closed_) return;
  if (unsent_) device_.control().send_last(*peer_, *unsent_);
  device_.control().send_last(*peer_, make_notice(NoticeKind::kClosed));
}

}  // namespace weft
