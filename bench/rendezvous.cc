#include "bench/rendezvous.h"

#include <poll.h>
#include <unistd.h>

#include <climits>

#include "bench/text.h"

namespace weft::bench {

Result<Rendezvous> Rendezvous::join(const HostPort& server, int rank, int size, std::chrono::milliseconds limit) {
  TRY(Descriptor fd, connect_to(server, Clock::now() + limit));
  Rendezvous rendezvous(std::move(fd), rank, size, limit);
  char host[HOST_NAME_MAX + 1] = "unknown host";
  gethostname(host, sizeof host - 1);
  const std::string who = text("pid %d on %.128s", static_cast<int>(getpid()), host);
  const FrameHeader hello{.kind = FrameKind::kHello, .rank = rank, .value = static_cast<std::uint32_t>(size)};
  if (auto sent = write_frame(rendezvous.fd_.get(), hello, std::as_bytes(std::span(who))); !sent) {
    return fail(Code::kRemote, "rank 0 hung up: " + sent.error().what);
  }
  // The first barrier: the server answers it when all ranks are here, or says who is missing.
  TRY_VOID(rendezvous.barrier());
  return rendezvous;
}

bool Rendezvous::read() {
  while (!failure_) {
    switch (reader_.read(fd_.get(), kMaxPayload)) {
      case ReadState::kMore: return false;
      case ReadState::kFrame: break;
      case ReadState::kClosed:
      case ReadState::kGarbage: failure_ = Failure{0, "rank 0 is gone: its rendezvous closed"}; return false;
    }
    const auto payload = reader_.payload();
    const std::string line(reinterpret_cast<const char*>(payload.data()), payload.size());
    switch (reader_.header().kind) {
      case FrameKind::kGather: return true;
      case FrameKind::kRefused: failure_ = Failure{rank_, "rank 0 refused this process: " + line}; break;
      case FrameKind::kFailure: failure_ = Failure{reader_.header().rank, line}; break;
      default: failure_ = Failure{0, "rank 0 sent a message that is not the rendezvous protocol"};
    }
  }
  return false;
}

std::unexpected<Error> Rendezvous::failed() const { return fail(Code::kRemote, failure_->what); }

Result<std::vector<Bytes>> Rendezvous::all_gather(std::span<const std::byte> part) {
  const FrameHeader header{.kind = FrameKind::kGather, .rank = rank_, .value = gathers_++};
  // The server names whoever is late before this; only its own silence is left to notice here.
  const auto deadline = Clock::now() + kBarrierLimits * limit_ + std::chrono::seconds(5);
  // A peer that has closed has usually said why before: read that first.
  const Status sent = failure_ ? Status() : write_frame(fd_.get(), header, part);
  while (!read()) {
    if (failure_) return failed();
    if (!sent) return fail(Code::kRemote, "rank 0 is gone: " + sent.error().what);
    pollfd wait{fd_.get(), POLLIN, 0};
    if (poll(&wait, 1, milliseconds_until(deadline)) == 0) return fail(Code::kTimeout, "rank 0 does not answer");
  }
  return unpack(reader_.payload(), static_cast<std::size_t>(size_));
}

Status Rendezvous::barrier() {
  TRY_VOID(all_gather({}));
  return {};
}

const std::optional<Failure>& Rendezvous::failure() {
  read();
  return failure_;
}

void Rendezvous::report_failure(const std::string& what) {
  if (failure_) return;
  const FrameHeader header{.kind = FrameKind::kFailure, .rank = rank_};
  if (!write_frame(fd_.get(), header, std::as_bytes(std::span(what)))) return;
  const auto deadline = Clock::now() + std::chrono::seconds(1);
  while (!failure() && Clock::now() < deadline) {
    pollfd wait{fd_.get(), POLLIN, 0};
    poll(&wait, 1, milliseconds_until(deadline));
  }
}

void Rendezvous::leave() {
  // Nobody is left to care whether it arrives.
  (void)write_frame(fd_.get(), {.kind = FrameKind::kGoodbye, .rank = rank_}, {});
}

}  // namespace weft::bench
