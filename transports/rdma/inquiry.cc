// What a sender does about a message one of whose writes has failed: it waits until nothing of it can arrive any more,
// looks whether the receiver has it, asks if not, and sends it anew when told to. The proof is in PROTOCOL.md.
#include <atomic>
#include <utility>

#include "transports/rdma/efa_status.h"
#include "transports/rdma/send_comm.h"
#include "weft/log.h"

namespace weft::rdma {
namespace {

/// How long an answer may take before the question is put again; it may have been lost with another rail.
constexpr std::chrono::milliseconds kAnswerLimit{500};

}  // namespace

void SendComm::failed(SendRequest& request, std::uint8_t path, const fabric::CompletionError& error) noexcept {
  auto& comm = static_cast<SendComm&>(*request.comm);
  --request.in_flight;
  comm.operation_ended();
  if (comm.left()) return;
  const Blame blame = judge(error, comm.adapter().is_efa()).blame;
  if (blame == Blame::kMessage) return comm.operation_failed(error, {0, request.sequence, request.size});
  if (blame == Blame::kPath) {
    // Stripes that fail together are one try.
    if (!request.in_doubt && comm.was_last_try(request, error)) return;
    comm.paths().path_failed(path, error);
  }
  comm.doubt(request);
}

/// One more try for the message has failed. True: it was the last, and so has the communicator.
bool SendComm::was_last_try(SendRequest& request, const fabric::CompletionError& error) noexcept {
  if (++request.attempts < kMostAttempts) return false;
  message_failed(error, {0, request.sequence, request.size});
  return true;
}

void SendComm::doubt(SendRequest& request) noexcept {
  request.in_doubt = true;
  // Nothing more of this attempt is posted.
  request.plan.count = request.posted;
  if (request.in_flight == 0) request.ended = Clock::now();
}

void SendComm::catch_up(SendRequest& request) noexcept {
  if (request.early) [[unlikely]] {
    if (request.in_flight == 0) settle_early(request);
    if (request.early) return;
  }
  if (request.in_doubt) [[unlikely]] {
    if (request.in_flight == 0) inquire(request);
  } else if (request.posted < request.plan.count) {
    post_rest(request);
  }
}

void SendComm::inquire(SendRequest& request) noexcept {
  using Step = Inquiry::Step;
  if (failed()) return;
  if (inquiry_.request != nullptr && inquiry_.request != &request) return;  // one after the other
  if (inquiry_.request == nullptr) {
    inquiry_.request = &request;
    inquiry_.step = Step::kDraining;
    inquiry_.asked_the_closed = false;
    inquiry_.until = request.ended + kDrain;
  }
  if (inquiry_.in_flight) return;
  const auto now = Clock::now();
  switch (inquiry_.step) {
    case Step::kDraining:
      if (now >= inquiry_.until) inquiry_.step = Step::kReading;
      break;
    case Step::kReading:
    case Step::kAsking: post_inquiry(request); break;
    case Step::kRead: {
      const std::uint32_t done = block().landing[slot_of(request.sequence)];
      if (static_cast<std::int32_t>(done - request.sequence) >= 0) return finish(request);
      inquiry_.step = Step::kAsking;
      break;
    }
    case Step::kWaiting: look_at_entry(request, now); break;
  }
}

/// The receiver answers by writing the message's entry again.
void SendComm::look_at_entry(SendRequest& request, Clock::time_point now) noexcept {
  const ClearToSend& entry = block().entries[slot_of(request.sequence)][request.sub];
  if (is_complete(entry, request.sequence, cookie_)) {
    if (entry.state == EntryState::kDone) return finish(request);
    if (entry.generation != request.generation) return send_anew(request, entry.generation);
  }
  // Overwritten by a later receive's, the read will show that ours is done.
  if (now < inquiry_.until) return;
  // A receiver that has closed answers no more; what it had until then, one more look shows.
  if (peer_closed() && std::exchange(inquiry_.asked_the_closed, true)) {
    fail({Code::kRemote, 0,
          "peer " + peer().name() + " closed its end of a connection on " + device().name() +
              " before it was known whether a message had arrived: it has ended or aborted; look at its log first"});
    return;
  }
  inquiry_.step = Inquiry::Step::kReading;
}

bool SendComm::post_inquiry(SendRequest& request) noexcept {
  if (paths().up() == 0) return false;
  paths().confirm();  // it has given permission, so it knows our rails
  const std::uint8_t index = last_path_ = paths().pick(last_path_);
  const Path& path = paths()[index];
  Lane& lane = this->lane(path);
  fabric::Operation* operation = lane.take(fabric::OperationKind::kInquiry, index, this);
  if (operation == nullptr) return false;
  const std::size_t slot = slot_of(request.sequence);
  fabric::PostResult posted{};
  if (inquiry_.step == Inquiry::Step::kReading) {
    const fabric::RemoteMemory source{remote_block_ + offsetof(Block, done) + slot * sizeof(std::uint32_t),
                                      remote_keys_[path.remote]};
    posted = lane.endpoint().read(&block().landing[slot], sizeof(std::uint32_t), descriptor(path), path.address, source,
                                  *operation);
  } else {
    posted =
        lane.endpoint().write_data(adapter().scratch(), 0, adapter().scratch_descriptors()[path.local], path.address,
                                   paths().scratch(index), immediate(request, kAskCode).bits(), *operation);
  }
  if (posted.status == PostStatus::kPosted) {
    inquiry_.in_flight = true;
    question_posted();
    return true;
  }
  lane.give(*operation);
  if (posted.status == PostStatus::kFailed) inquiry_ended_badly(index, {.error = posted.error});
  return false;
}

void SendComm::inquiry_done() noexcept {
  question_ended();
  inquiry_.in_flight = false;
  if (inquiry_.step == Inquiry::Step::kReading) {
    inquiry_.step = Inquiry::Step::kRead;
  } else {
    inquiry_.step = Inquiry::Step::kWaiting;
    inquiry_.until = Clock::now() + kAnswerLimit;
  }
}

void SendComm::inquiry_failed(std::uint8_t path, const fabric::CompletionError& error) noexcept {
  question_ended();
  inquiry_.in_flight = false;
  if (left()) return;
  const Blame blame = judge(error, adapter().is_efa()).blame;
  if (blame == Blame::kMessage) return operation_failed(error, {0, inquiry_.request->sequence, sizeof(std::uint32_t)});
  if (blame == Blame::kPath) return inquiry_ended_badly(path, error);
  ask_later();
}

void SendComm::inquiry_ended_badly(std::uint8_t path, const fabric::CompletionError& error) noexcept {
  if (was_last_try(*inquiry_.request, error)) return;
  paths().path_failed(path, error);
  ask_later();
}

void SendComm::ask_later() noexcept {
  inquiry_.step = Inquiry::Step::kDraining;
  inquiry_.until = Clock::now() + kDrain;
}

void SendComm::send_anew(SendRequest& request, std::uint8_t generation) noexcept {
  inquiry_.request = nullptr;
  request.generation = generation;
  request.in_doubt = false;
  request.posted = 0;
  plan(request);
  post_rest(request);
}

void SendComm::finish(SendRequest& request) noexcept {
  inquiry_.request = nullptr;
  request.state = RequestState::kDone;
}

}  // namespace weft::rdma
