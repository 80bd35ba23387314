#include "transports/sendrecv/transport.h"

#include <algorithm>
#include <thread>

#include "transports/connection/connector.h"
#include "transports/sendrecv/progress.h"

namespace weft::sendrecv {
namespace {

/// Reads of the completion queue that a closing communicator spends on its cancelled operations. A provider that
/// cancels at all does so within the first.
constexpr std::size_t kCloseReads = 8 + kRecvRequests * kMaxGroup / kCompletionBatch;

/// How long receives may take whose memory is to be deregistered: those that cannot be cancelled are in the middle of
/// their message, which the peer has begun to send.
constexpr std::chrono::milliseconds kReceiveGrace{1000};

/// The request is not done. A receive that may be given back before its data is there is: its slot stays taken.
[[gnu::noinline]] TestStatus still_pending(Request& request, int* sizes) noexcept {
  Comm& comm = *request.comm;
  if (request.kind == RequestKind::kReceive) {
    auto& receive = static_cast<RecvRequest&>(request);
    auto& receiver = static_cast<RecvComm&>(comm);
    receiver.catch_up(receive);
    if (receive.optional && receiver.can_detach() && receive.posted == receive.count && !comm.failed()) {
      request.state = RequestState::kDetached;
      if (sizes != nullptr) std::fill_n(sizes, receive.count, 0);
      return TestStatus::kDone;
    }
  }
  comm.waiting();
  return comm.failed() ? TestStatus::kFailed : TestStatus::kPending;
}

void finish(RecvRequest& request, int* sizes) noexcept {
  if (sizes != nullptr) {
    sizes[0] = static_cast<int>(request.subs[0].received);
    for (std::size_t i = 1; i < request.count; ++i) sizes[i] = static_cast<int>(request.subs[i].received);
  }
  static_cast<RecvComm*>(request.comm)->report_if_due();
}

}  // namespace

fabric::Hints hints(const std::string& provider) { return {.caps = FI_MSG | FI_TAGGED, .provider = provider}; }

Result<std::unique_ptr<Device>> open_device(const fabric::Library& library, const fabric::Info& info,
                                            DeviceOptions options) {
  options.transport = TransportId::kSendRecv;
  options.memory_access = FI_SEND | FI_RECV;
  options.max_receives = static_cast<int>(kMaxGroup);
  return Device::open(library, info, options);
}

Result<std::unique_ptr<Listener>> listen(Device& device, std::span<std::byte, kHandleBytes> handle) {
  return Listener::open(device, handle);
}

Result<std::unique_ptr<SendComm>> connect(Device& device, std::span<std::byte, kHandleBytes> handle) {
  const SpinGuard guard(device.lock());
  TRY(Connector * connector, Connector::find_or_begin(device, handle));
  progress(device);
  const auto step = connector->step();
  if (step && *step == nullptr) return nullptr;
  std::unique_ptr<SendComm> comm;
  if (step) {
    device.peers().retain(*(*step)->peer);
    comm = std::make_unique<SendComm>(device, (*step)->peer, (*step)->receiver);
    device.registry().transfer(*connector, *comm);
    device.peers().watch(comm->peer(), *comm);
  }
  Connector::finish(device, connector);
  if (!step) return std::unexpected(step.error());
  return comm;
}

Result<std::unique_ptr<RecvComm>> accept(Listener& listener) {
  Device& device = listener.device();
  const SpinGuard guard(device.lock());
  progress(device);
  TRY(const Listener::Pending* pending, listener.pending());
  if (pending == nullptr) return nullptr;
  device.peers().retain(*pending->peer);
  auto comm = std::make_unique<RecvComm>(device, pending->peer, pending->request.connector);
  TRY_VOID(device.registry().add(*comm));
  comm->start();
  device.peers().watch(comm->peer(), *comm);
  if (listener.reply(comm->key(), {}) != PostStatus::kPosted) return nullptr;  // the next call tries again
  return comm;
}

void close(std::unique_ptr<SendComm> comm) noexcept {
  Device& device = comm->device();
  const SpinGuard guard(device.lock());
  progress(device);  // first: the peer may have said that it has closed too
  comm->leave();
  progress(device);
  if (!comm->is_idle()) device.keep_until_idle(std::move(comm));
  comm.reset();
  device.sweep();
}

void close(std::unique_ptr<RecvComm> comm) noexcept {
  Device& device = comm->device();
  const SpinGuard guard(device.lock());
  comm->give_up({Code::kUsage, 0, "closed"});
  comm->cancel(nullptr);  // first: the buffers may be gone already
  progress(device);       // before the farewell: the peer may have said that it has closed too
  comm->leave();
  for (std::size_t i = 0; i < kCloseReads && !comm->is_idle(); ++i) progress(device);
  if (!comm->is_idle()) device.keep_until_idle(std::move(comm));
  comm.reset();
  device.sweep();
}

Status withdraw(Device& device, const MemoryHandle* memory) noexcept {
  if (memory == nullptr) return {};
  const auto users = [&] {
    std::string names;
    device.for_each([&](const Addressable& object) {
      // Only communicators use memory.
      if (object.uses(memory)) names += (names.empty() ? "" : ", ") + static_cast<const Comm&>(object).peer().name();
    });
    return names;
  };
  const auto deadline = Clock::now() + kReceiveGrace;
  for (;; std::this_thread::yield()) {
    const SpinGuard guard(device.lock());
    device.for_each([memory](Addressable& object) { object.withdraw(memory); });
    if (users().empty()) return {};
    progress(device);
    const std::string left = users();
    if (left.empty()) return {};
    if (Clock::now() < deadline) continue;
    return fail(Code::kRemote, "memory cannot be deregistered: messages into it on " + device.name() + " from peer " +
                                   left + " have begun and not ended in " + std::to_string(kReceiveGrace.count()) +
                                   " ms. It must not be freed: the peer's process is stuck, and may still go on");
  }
}

TestStatus test(Request& request, int* sizes) noexcept {
  Device& device = request.comm->device();
  const SpinGuard guard(device.lock());
  if (request.state == RequestState::kPending) {
    progress(device);
    if (request.state == RequestState::kPending) return still_pending(request, sizes);
  }
  if (request.kind == RequestKind::kSend) {
    if (sizes != nullptr) sizes[0] = static_cast<int>(static_cast<SendRequest&>(request).size);
  } else {
    finish(static_cast<RecvRequest&>(request), sizes);
  }
  request.state = RequestState::kFree;
  return TestStatus::kDone;
}

const Error& error_of(const Request& request) noexcept { return request.comm->error(); }

}  // namespace weft::sendrecv
