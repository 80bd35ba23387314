#include "transports/rdma/transport.h"

#include <algorithm>

#include "transports/connection/connector.h"

namespace weft::rdma {
namespace {

TestStatus give_back(Request& request, int* sizes) noexcept {
  if (sizes != nullptr) {
    if (request.kind == RequestKind::kSend) {
      sizes[0] = static_cast<int>(static_cast<SendRequest&>(request).size);
    } else {
      const auto& receive = static_cast<RecvRequest&>(request);
      sizes[0] = static_cast<int>(receive.subs[0].received);
      for (std::size_t i = 1; i < receive.count; ++i) sizes[i] = static_cast<int>(receive.subs[i].received);
    }
  }
  request.state = RequestState::kFree;
  return TestStatus::kDone;
}

[[gnu::noinline]] TestStatus still_pending(Request& request, int* sizes) noexcept {
  if (request.kind == RequestKind::kSend) {
    auto& comm = static_cast<SendComm&>(*request.comm);
    comm.catch_up(static_cast<SendRequest&>(request));
    comm.waited();
    return comm.failed() ? TestStatus::kFailed : TestStatus::kPending;
  }
  auto& comm = static_cast<RecvComm&>(*request.comm);
  auto& receive = static_cast<RecvRequest&>(request);
  comm.catch_up(receive);
  // Given back before its data is there, once the peer has its permission for certain.
  if (receive.optional && !receive.open.unwritten && receive.open.in_flight == 0 && !receive.open.draining &&
      !comm.failed() && receive.state == RequestState::kPending) {
    receive.state = RequestState::kDetached;
    if (sizes != nullptr) std::fill_n(sizes, receive.count, 0);
    return TestStatus::kDone;
  }
  comm.waited();
  if (!comm.failed()) return TestStatus::kPending;
  // Its data was all there; that the permission was still to be repeated for the sender's sake matters no more.
  return receive.open.remaining > 0 || receive.open.in_flight > 0 ? TestStatus::kFailed : give_back(receive, sizes);
}

/// The bytes of a card, as a connect request carries them.
std::span<const std::byte> bytes_of(const Card& card) { return std::as_bytes(std::span(&card, 1)); }

/// What a connection attempt has promised to its listener: the block that receives the permissions.
class Offer final : public Connector::Baggage {
 public:
  Offer(Adapter& adapter, BlockRef block, std::uint32_t cookie)
      : adapter_(adapter), block_(block), card_(adapter.card(block)) {
    card_.cookie = cookie;
  }
  ~Offer() override {
    if (block_.block != nullptr) adapter_.blocks().give(block_);
  }
  std::span<const std::byte> payload() const override { return bytes_of(card_); }

  std::uint32_t cookie() const noexcept { return card_.cookie; }
  /// The block goes over to the communicator.
  BlockRef take() noexcept { return std::exchange(block_, {}); }

 private:
  Adapter& adapter_;
  BlockRef block_;
  Card card_;
};

}  // namespace

fabric::Hints hints(const std::string& provider) { return {.caps = FI_MSG | FI_RMA, .provider = provider}; }

Result<std::unique_ptr<Device>> open_device(const fabric::Library& library, std::span<const fabric::Info* const> infos,
                                            DeviceOptions options) {
  options.transport = TransportId::kRdma;
  options.memory_access = FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
  options.max_receives = static_cast<int>(kMaxGroup);
  if (options.cq_entries == 0) options.cq_entries = kCqEntries;
  TRY(auto device, Device::open(library, infos, options));
  if (device->rail().info().provider() == "efa" && device->rail().endpoint().emulates_writes()) {
    return fail(Code::kUsage,
                "the EFA NIC " + device->name() + " cannot write into a peer's memory (libfabric would " +
                    "emulate it by messages, much slower); use WEFT_PROTOCOL=sendrecv on this instance type");
  }
  TRY(auto adapter, Adapter::open(*device));
  device->attach(std::move(adapter));
  return device;
}

Result<std::unique_ptr<Listener>> listen(Device& device, std::span<std::byte, kHandleBytes> handle) {
  return Listener::open(device, handle);
}

Result<std::unique_ptr<SendComm>> connect(Device& device, std::span<std::byte, kHandleBytes> handle) {
  const SpinGuard guard(device.lock());
  Adapter& adapter = Adapter::of(device);
  const auto pack = [&]() -> Result<std::unique_ptr<Connector::Baggage>> {
    TRY(const BlockRef block, adapter.blocks().take());
    return std::make_unique<Offer>(adapter, block, static_cast<std::uint32_t>(device.registry().random()));
  };
  TRY(Connector * connector, Connector::find_or_begin(device, handle, pack));
  adapter.progress();
  const auto step = connector->step();
  if (step && *step == nullptr) return nullptr;
  auto made = [&]() -> Result<std::unique_ptr<SendComm>> {
    if (!step) return std::unexpected(step.error());
    const Connector::Accepted& accepted = **step;
    TRY(const Card card,
        parse_card(std::span(accepted.reply.payload).first(accepted.reply.payload_size), device.address().size()));
    TRY(Paths * paths, adapter.paths_to(*accepted.peer, card));
    auto& offer = static_cast<Offer&>(*connector->baggage());
    device.peers().retain(*accepted.peer);
    auto comm = std::make_unique<SendComm>(adapter, accepted.peer, paths, offer.take(), accepted.receiver, card,
                                           offer.cookie());
    device.registry().transfer(*connector, *comm);
    device.peers().watch(comm->peer(), *comm);
    return comm;
  }();
  Connector::finish(device, connector);
  return made;
}

namespace {

/// The receiving end for a request that has arrived, on the tables but not yet answered.
Result<std::unique_ptr<RecvComm>> make_receiver(Adapter& adapter, const Listener::Pending& pending) {
  Device& device = adapter.device();
  const auto& request = pending.request;
  TRY(const Card card, parse_card(std::span(request.payload).first(request.payload_size), device.address().size()));
  TRY(Paths * paths, adapter.paths_to(*pending.peer, card));
  auto block = adapter.blocks().take();
  if (!block) {
    paths->release();
    return std::unexpected(block.error());
  }
  device.peers().retain(*pending.peer);
  auto comm = std::make_unique<RecvComm>(adapter, pending.peer, paths, *block, request.connector, card);
  TRY_VOID(device.registry().add(*comm));
  TRY(const std::uint16_t number, adapter.add(*comm));
  comm->start(number);
  device.peers().watch(comm->peer(), *comm);
  return comm;
}

}  // namespace

Result<std::unique_ptr<RecvComm>> accept(Listener& listener) {
  Device& device = listener.device();
  const SpinGuard guard(device.lock());
  Adapter& adapter = Adapter::of(device);
  adapter.progress();
  TRY(const Listener::Pending* pending, listener.pending());
  if (pending == nullptr) return nullptr;
  if (listener.prepared() == nullptr) {
    TRY(listener.prepared(), make_receiver(adapter, *pending));
  }
  auto& comm = static_cast<RecvComm&>(*listener.prepared());
  const Card card = comm.card();
  if (listener.reply(comm.key(), bytes_of(card)) != PostStatus::kPosted) return nullptr;  // the next call tries again
  return std::unique_ptr<RecvComm>(static_cast<RecvComm*>(listener.prepared().release()));
}

void close(std::unique_ptr<SendComm> comm) noexcept {
  Device& device = comm->device();
  const SpinGuard guard(device.lock());
  Adapter& adapter = Adapter::of(device);
  adapter.progress();  // first: the peer may have said that it has closed too
  comm->leave();
  adapter.progress();
  if (!comm->is_idle()) device.keep_until_idle(std::move(comm));
  comm.reset();
  device.sweep();
  adapter.sweep();
}

void close(std::unique_ptr<RecvComm> comm) noexcept {
  Device& device = comm->device();
  const SpinGuard guard(device.lock());
  Adapter& adapter = Adapter::of(device);
  comm->retire();  // first: the buffers may be gone already
  adapter.progress();
  comm->leave();
  adapter.progress();
  if (!comm->is_idle()) device.keep_until_idle(std::move(comm));
  comm.reset();
  device.sweep();
  adapter.sweep();
}

TestStatus test(Request& request, int* sizes) noexcept {
  Device& device = request.comm->device();
  const SpinGuard guard(device.lock());
  if (request.state == RequestState::kPending) {
    Adapter::of(device).progress();
    if (request.state == RequestState::kPending) return still_pending(request, sizes);
  }
  return give_back(request, sizes);
}

const Error& error_of(const Request& request) noexcept { return request.comm->error(); }

}  // namespace weft::rdma
