#include "weft/wire.h"

#include <cstring>

namespace weft {
namespace {

constexpr std::uint32_t kHandleMagic = 0x54464557;   // "WEFT"
constexpr std::uint32_t kControlMagic = 0x4c544357;  // "WCTL"

/// FNV-1a, 32 bits: enough to tell a damaged handle from a whole one. It is no protection against forgery; the nonce
/// is.
std::uint32_t checksum(const ConnectHandle& handle) noexcept {
  ConnectHandle copy = handle;
  copy.checksum = 0;
  copy.connector = 0;
  std::byte bytes[kHandleBytes];
  std::memcpy(bytes, &copy, sizeof bytes);
  std::uint32_t hash = 2166136261U;
  for (const std::byte byte : bytes) hash = (hash ^ static_cast<std::uint32_t>(byte)) * 16777619U;
  return hash;
}

bool is_terminated(std::span<const char> text) noexcept {
  return std::memchr(text.data(), '\0', text.size()) != nullptr;
}

/// The fixed part of a message, with zeroes where its payload is not sent.
template <class Message>
Message copy_of(std::span<const std::byte> bytes) noexcept {
  Message message{};
  std::memcpy(&message, bytes.data(), bytes.size());
  return message;
}

template <class Message>
const char* check_payload(std::span<const std::byte> bytes) noexcept {
  constexpr std::size_t kFixed = sizeof(Message) - kMaxPayloadBytes;
  if (bytes.size() < kFixed) return "it is cut short";
  if (bytes.size() > sizeof(Message)) return "it is too long";
  const auto message = copy_of<Message>(bytes);
  if (message.payload_size > kMaxPayloadBytes || wire_size(message) != bytes.size()) return "its payload size is wrong";
  return nullptr;
}

}  // namespace

const char* verdict_text(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::kAccepted: return "accepted";
    case Verdict::kUnknownListener: return "the listener is closed or never existed";
    case Verdict::kWrongNonce: return "the handle is not the listener's (wrong nonce)";
    case Verdict::kAlreadyUsed: return "the handle has been used already";
    case Verdict::kWrongVersion: return "the peer runs another version of Weft or another protocol";
    case Verdict::kDuplicate: return "the same request has been answered already";
    case Verdict::kFailed: return "the peer could not set up its side";
  }
  return "unknown reason";
}

void seal(ConnectHandle& handle) noexcept {
  handle.magic = kHandleMagic;
  handle.version = kWireVersion;
  handle.checksum = checksum(handle);
}

Result<ConnectHandle> parse_handle(std::span<const std::byte, kHandleBytes> bytes, TransportId transport) {
  ConnectHandle handle;
  std::memcpy(&handle, bytes.data(), sizeof handle);
  if (handle.magic != kHandleMagic) {
    return fail(Code::kArgument,
                "connect handle refused: it was not made by Weft; does every rank load the same plugin?");
  }
  if (handle.version != kWireVersion) {
    return fail(Code::kRemote, "connect handle refused: the peer speaks version " + std::to_string(handle.version) +
                                   " of Weft's protocol, this side version " + std::to_string(kWireVersion) +
                                   "; install the same Weft on every node");
  }
  if (handle.checksum != checksum(handle)) {
    return fail(Code::kArgument, "connect handle refused: it is damaged or cut short (wrong checksum)");
  }
  if (handle.transport != transport) {
    return fail(Code::kRemote,
                "connect handle refused: the peer uses another transport; set the same WEFT_PROTOCOL and "
                "WEFT_PROVIDER on every node, and check that all nodes have the same kind of NIC and libfabric");
  }
  if (handle.address_size == 0 || handle.address_size > kMaxAddressBytes || !is_terminated(handle.host)) {
    return fail(Code::kArgument, "connect handle refused: its fields are out of range");
  }
  return handle;
}

ControlHeader make_header(ControlType type, TransportId transport, std::size_t size, Key target) noexcept {
  return {kControlMagic, kWireVersion, type, transport, static_cast<std::uint32_t>(size), 0, target};
}

std::expected<ControlMessage, const char*> parse_control(std::span<const std::byte> bytes,
                                                         TransportId transport) noexcept {
  if (bytes.size() < sizeof(ControlHeader)) return std::unexpected("it is cut short");
  const auto header = copy_of<ControlHeader>(bytes.first(sizeof(ControlHeader)));
  if (header.magic != kControlMagic) return std::unexpected("it is not Weft's");
  if (header.version != kWireVersion) return std::unexpected("the peer runs another version of Weft");
  if (header.transport != transport) return std::unexpected("the peer uses another transport");
  if (header.size != bytes.size()) return std::unexpected("its size field is wrong");
  switch (header.type) {
    case ControlType::kConnectRequest: {
      if (const char* wrong = check_payload<ConnectRequest>(bytes)) return std::unexpected(wrong);
      const auto request = copy_of<ConnectRequest>(bytes);
      if (request.address_size == 0 || request.address_size > kMaxAddressBytes) {
        return std::unexpected("its address size is wrong");
      }
      if (request.connector == 0) return std::unexpected("it comes from no connector");
      if (!is_terminated(request.host)) return std::unexpected("its host name has no end");
      return request;
    }
    case ControlType::kConnectReply:
      if (const char* wrong = check_payload<ConnectReply>(bytes)) return std::unexpected(wrong);
      return copy_of<ConnectReply>(bytes);
    case ControlType::kNotice:
      if (bytes.size() != sizeof(Notice)) return std::unexpected("its size is wrong");
      return copy_of<Notice>(bytes);
  }
  return std::unexpected("its type is unknown");
}

}  // namespace weft
