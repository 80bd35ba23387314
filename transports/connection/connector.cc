#include "transports/connection/connector.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "weft/log.h"

namespace weft {

Result<Connector*> Connector::find_or_begin(Device& device, std::span<std::byte, kHandleBytes> bytes,
                                            const Pack& pack) {
  TRY(const ConnectHandle handle, parse_handle(bytes, device.options().transport));
  if (handle.connector != 0) {
    // The field is ours, but the bytes may have been anywhere: believe it only if it names an attempt of this handle.
    for (const auto& each : device.connectors()) {
      if (each->key() == handle.connector && each->request_.nonce == handle.nonce) return each.get();
    }
    return fail(Code::kUsage,
                "connect handle refused: its connection has been made or given up already; each handle "
                "serves one connection");
  }
  if (device.lost()) return std::unexpected(*device.lost());
  device.sweep();
  std::unique_ptr<Connector> connector(new Connector(device));
  TRY_VOID(device.registry().add(*connector));
  TRY_VOID(connector->begin(handle, pack));
  const Key key = connector->key();
  std::memcpy(bytes.data() + offsetof(ConnectHandle, connector), &key, sizeof key);
  device.connectors().push_back(std::move(connector));
  return device.connectors().back().get();
}

Status Connector::begin(const ConnectHandle& handle, const Pack& pack) {
  started_ = Clock::now();
  deadline_ = started_ + device_.options().connect_timeout;
  TRY(peer_, device_.peers().acquire(std::span(handle.address).first(handle.address_size)));
  device_.peers().set_name(*peer_, handle.host, handle.pid);
  device_.peers().watch(*peer_, *this);
  request_.nonce = handle.nonce;
  request_.connector = key();
  request_.pid = static_cast<std::uint32_t>(getpid());
  request_.address_size = static_cast<std::uint16_t>(device_.address().size());
  std::memcpy(request_.address, device_.address().data(), device_.address().size());
  std::strncpy(request_.host, local_host_name().c_str(), sizeof request_.host - 1);
  if (pack) {
    TRY(baggage_, pack());
    const auto payload = baggage_->payload();
    request_.payload_size = static_cast<std::uint16_t>(payload.size());
    std::ranges::copy(payload, request_.payload);
  }
  request_.header = make_header(ControlType::kConnectRequest, handle.transport, wire_size(request_), handle.listener);
  return {};
}

Connector::~Connector() {
  device_.registry().remove(*this);
  if (peer_ != nullptr) {
    device_.peers().unwatch(*peer_, *this);
    device_.peers().release(peer_);
  }
}

Result<const Connector::Accepted*> Connector::step() {
  if (state_ == State::kSending) {
    if (device_.control().send(*peer_, request_) == PostStatus::kPosted) state_ = State::kWaiting;
  }
  if (state_ == State::kAccepted) return &accepted_;
  const auto now = Clock::now();
  const auto interval = device_.options().peer_check;
  // A listener whose process is gone must not cost the whole time limit.
  if (state_ != State::kFailed && now - started_ >= interval) device_.control().check(*peer_, now, interval);
  if (state_ == State::kFailed) return std::unexpected(error_);
  if (now < deadline_) return nullptr;
  fail_with({Code::kTimeout, 0,
             "peer " + peer_->name() + " did not answer a connect request from " + device_.name() + " within " +
                 std::to_string(device_.options().connect_timeout.count() / 1000) +
                 " s: check that its process is alive and not stuck (its log comes first), and that security groups "
                 "and routes let the two nodes reach each other; WEFT_CONNECT_TIMEOUT_S sets the limit"});
  return std::unexpected(error_);
}

void Connector::finish(Device& device, Connector* connector) noexcept {
  std::erase_if(device.connectors(), [connector](const auto& each) { return each.get() == connector; });
}

bool Connector::on_connect_reply(const ConnectReply& reply) {
  if (state_ != State::kWaiting) return false;
  if (reply.verdict != Verdict::kAccepted) {
    fail_with({Code::kRemote, 0, "peer " + peer_->name() + " refused the connection: " + verdict_text(reply.verdict)});
    return true;
  }
  device_.peers().set_established(*peer_);
  accepted_ = {peer_, reply.receiver, reply};
  state_ = State::kAccepted;
  return true;
}

bool Connector::on_notice(const Notice& notice) {
  if (notice.kind != NoticeKind::kClosed) return false;
  fail_with({Code::kRemote, 0, "peer " + peer_->name() + " closed the connection before it was used"});
  return true;
}

void Connector::on_peer_failed(const Error& error) {
  // The peer table has said so already.
  state_ = State::kFailed;
  error_ = error;
}

void Connector::fail_with(Error error) {
  state_ = State::kFailed;
  error_ = std::move(error);
  error_.logged = true;
  WEFT_WARN("connecting failed: %s", error_.what.c_str());
}

}  // namespace weft
