#include "transports/connection/listener.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "weft/log.h"

namespace weft {

Result<std::unique_ptr<Listener>> Listener::open(Device& device, std::span<std::byte, kHandleBytes> bytes) {
  std::unique_ptr<Listener> listener(new Listener(device));
  ConnectHandle handle{};
  {
    const SpinGuard guard(device.lock());
    TRY_VOID(device.registry().add(*listener));
    listener->nonce_ = device.registry().random();
    handle.nonce = listener->nonce_;
  }
  handle.transport = device.options().transport;
  handle.listener = listener->key();
  handle.pid = static_cast<std::uint32_t>(getpid());
  handle.address_size = static_cast<std::uint8_t>(device.address().size());
  std::memcpy(handle.address, device.address().data(), device.address().size());
  std::strncpy(handle.host, local_host_name().c_str(), sizeof handle.host - 1);
  seal(handle);
  std::memcpy(bytes.data(), &handle, sizeof handle);
  return listener;
}

Listener::~Listener() {
  const SpinGuard guard(device_.lock());
  device_.registry().remove(*this);
  prepared_.reset();
  if (pending_) {
    device_.peers().unwatch(*pending_->peer, *this);
    device_.peers().release(pending_->peer);
  }
}

Verdict Listener::on_connect_request(const ConnectRequest& request) {
  if (request.nonce != nonce_) return Verdict::kWrongNonce;
  // One that arrives twice must not get a refusal after its acceptance.
  if (used_by_ != 0) return used_by_ == request.connector ? Verdict::kDuplicate : Verdict::kAlreadyUsed;
  auto peer = device_.peers().acquire(std::span(request.address).first(request.address_size));
  if (!peer) {
    // Of an honest peer that holds the handle; a stranger's nonsense is counted and said by the control channel.
    if (peer.error().code == Code::kSystem) {
      WEFT_WARN("a connection cannot be accepted: %s", peer.error().what.c_str());
    }
    return Verdict::kFailed;
  }
  used_by_ = request.connector;
  device_.peers().set_name(**peer, request.host, request.pid);
  device_.peers().watch(**peer, *this);
  pending_ = Pending{*peer, request};
  return Verdict::kAccepted;
}

void Listener::on_peer_failed(const Error& error) { failed_ = error; }

Result<const Listener::Pending*> Listener::pending() {
  if (failed_) return std::unexpected(*failed_);
  if (device_.lost()) return std::unexpected(*device_.lost());
  if (pending_) return &*pending_;
  if (used_by_ != 0)
    return fail(Code::kUsage, "this listener has accepted its one connection; listen again for another");
  const auto now = Clock::now();
  if (!deadline_) deadline_ = now + device_.options().connect_timeout;
  if (now < *deadline_) return nullptr;
  failed_ = Error{Code::kTimeout, 0,
                  "nobody connected to this process on " + device_.name() + " within " +
                      std::to_string(device_.options().connect_timeout.count() / 1000) +
                      " s: check that the peer rank is alive (its log comes first), and that security groups and "
                      "routes let its node reach this one; WEFT_CONNECT_TIMEOUT_S sets the limit"};
  failed_->logged = true;
  WEFT_WARN("%s", failed_->what.c_str());
  return std::unexpected(*failed_);
}

PostStatus Listener::reply(Key receiver, std::span<const std::byte> payload) {
  ConnectReply reply{};
  reply.verdict = Verdict::kAccepted;
  reply.receiver = receiver;
  reply.payload_size = static_cast<std::uint16_t>(payload.size());
  std::ranges::copy(payload, reply.payload);
  reply.header = make_header(ControlType::kConnectReply, device_.options().transport, wire_size(reply),
                             pending_->request.connector);
  const PostStatus status = device_.control().send(*pending_->peer, reply);
  if (status == PostStatus::kPosted) {
    device_.peers().set_established(*pending_->peer);
    device_.peers().unwatch(*pending_->peer, *this);
    device_.peers().release(pending_->peer);
    pending_.reset();
  }
  return status;
}

}  // namespace weft
