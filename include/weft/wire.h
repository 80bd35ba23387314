// Everything that crosses a wire or NCCL's bootstrap: the listen handle, the control messages, the tag of a data
// message. All of it comes from a peer that may be old, broken or hostile, so it is checked here and nowhere else.
//
// Byte order is the host's: every platform with EFA is little-endian, and a big-endian peer fails the magic check.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <type_traits>
#include <variant>

#include "weft/result.h"

namespace weft {

/// Raised with every change to anything in this file. Peers of another version are refused with a clear error.
inline constexpr std::uint16_t kWireVersion = 1;

/// Which protocol a listener speaks. Both ends must agree.
enum class TransportId : std::uint8_t { kSendRecv = 1, kRdma = 2 };

inline constexpr std::size_t kHandleBytes = 128;  // NCCL_NET_HANDLE_MAXSIZE (net.h)
inline constexpr std::size_t kMaxAddressBytes = 64;
inline constexpr std::size_t kMaxPayloadBytes = 720;
inline constexpr std::size_t kMaxControlBytes = 1024;

/// Names one object inside one process: a table index in the low bits, chance in the others, so that a late message
/// for an object that is gone is never taken for one to its successor.
using Key = std::uint64_t;
inline constexpr int kIdBits = 20;
inline constexpr std::uint32_t kMaxIds = 1U << kIdBits;
constexpr std::uint32_t id_of(Key key) noexcept { return static_cast<std::uint32_t>(key & (kMaxIds - 1)); }

/// What listen() gives out and connect() takes in. NCCL carries it to the peer and keeps it between calls of
/// connect(), which note the state of the attempt in `connector`.
struct ConnectHandle {
  std::uint32_t magic;
  std::uint16_t version;
  TransportId transport;
  std::uint8_t address_size;
  std::uint64_t nonce;  ///< random; the connector must show it
  Key listener;
  std::uint32_t pid;       ///< of the listener, for messages only
  std::uint32_t checksum;  ///< over all other fields but `connector`
  std::byte address[kMaxAddressBytes];
  char host[24];  ///< of the listener, cut to fit, zero terminated; for messages only
  Key connector;  ///< zero when fresh; meaningful only in the process that connects
};
static_assert(sizeof(ConnectHandle) == kHandleBytes && std::is_trivially_copyable_v<ConnectHandle>);
static_assert(offsetof(ConnectHandle, nonce) == 8 && offsetof(ConnectHandle, address) == 32 &&
              offsetof(ConnectHandle, host) == 96 && offsetof(ConnectHandle, connector) == 120);

enum class ControlType : std::uint8_t { kConnectRequest = 1, kConnectReply = 2, kNotice = 3 };

struct ControlHeader {
  std::uint32_t magic;
  std::uint16_t version;
  ControlType type;
  TransportId transport;
  std::uint32_t size;  ///< of the whole message, in bytes
  std::uint32_t reserved;
  Key target;  ///< the object in the receiving process
};
static_assert(sizeof(ControlHeader) == 24);

/// Connector to listener: who I am, and the proof that I hold the handle.
struct ConnectRequest {
  ControlHeader header;
  std::uint64_t nonce;
  Key connector;
  std::uint32_t pid;
  std::uint16_t address_size;
  std::uint16_t payload_size;
  std::byte address[kMaxAddressBytes];
  char host[64];
  std::byte payload[kMaxPayloadBytes];  ///< the transport's own; only payload_size bytes are sent
};
static_assert(sizeof(ConnectRequest) == 24 + 24 + 64 + 64 + kMaxPayloadBytes &&
              sizeof(ConnectRequest) <= kMaxControlBytes);

/// Why a connection was refused; kAccepted if it was not.
enum class Verdict : std::uint32_t {
  kAccepted = 0,
  kUnknownListener,
  kWrongNonce,
  kAlreadyUsed,
  kWrongVersion,
  kFailed,
  kDuplicate,  ///< never sent: the request has been answered
};
const char* verdict_text(Verdict verdict) noexcept;

/// Listener to connector.
struct ConnectReply {
  ControlHeader header;
  Verdict verdict;
  std::uint16_t payload_size;
  std::uint16_t reserved;
  Key receiver;  ///< the receiving communicator; its id is in every data message
  std::byte payload[kMaxPayloadBytes];
};
static_assert(sizeof(ConnectReply) == 24 + 16 + kMaxPayloadBytes && sizeof(ConnectReply) <= kMaxControlBytes);

enum class NoticeKind : std::uint32_t {
  kAlive = 1,      ///< nothing to say: the sender only wants to know whether its peer can still be reached
  kConsumed = 2,   ///< `count` messages have been received so far
  kTruncated = 3,  ///< message (`tag`, `sequence`) did not fit
  kClosed = 4,     ///< the communicator at the other end is gone
};

/// Between the two communicators of a connection.
struct Notice {
  ControlHeader header;
  NoticeKind kind;
  std::uint32_t count;
  std::int32_t tag;
  std::uint32_t sequence;
  std::uint64_t sent_bytes;    ///< kTruncated; 0 where the provider does not say
  std::uint64_t posted_bytes;  ///< kTruncated
};
static_assert(sizeof(Notice) == 24 + 32);

using ControlMessage = std::variant<ConnectRequest, ConnectReply, Notice>;

/// Fills magic, version and checksum of a handle whose other fields are set.
void seal(ConnectHandle& handle) noexcept;
/// The handle in `bytes`, or why it cannot be one of ours. `transport` is what this side speaks.
Result<ConnectHandle> parse_handle(std::span<const std::byte, kHandleBytes> bytes, TransportId transport);

ControlHeader make_header(ControlType type, TransportId transport, std::size_t size, Key target) noexcept;
/// The message in `bytes`, fully checked, or a few words on what is wrong with it.
std::expected<ControlMessage, const char*> parse_control(std::span<const std::byte> bytes,
                                                         TransportId transport) noexcept;

/// Bytes of a message on the wire: the payload's unused part is not sent.
template <class Message>
constexpr std::size_t wire_size(const Message& message) noexcept {
  return sizeof(Message) - kMaxPayloadBytes + message.payload_size;
}
template <>
constexpr std::size_t wire_size<Notice>(const Notice&) noexcept {
  return sizeof(Notice);
}

/// The 64-bit tag of a data message on two-sided providers: the sequence number among messages of one tag, the id of
/// the receiving communicator, and NCCL's tag. It finds the message's receive whatever order the provider delivers in.
/// The sequence number stands on top so that adding kNextInSequence counts and wraps. Why 12 bits are enough is proved
/// in transports/sendrecv/window.h.
inline constexpr int kSequenceBits = 12;
inline constexpr std::uint32_t kSequenceSpace = 1U << kSequenceBits;
inline constexpr std::uint64_t kNextInSequence = 1ULL << (32 + kIdBits);
static_assert(kSequenceBits + kIdBits + 32 == 64 && kNextInSequence * kSequenceSpace == 0);

constexpr std::uint64_t data_tag(Key receiver, int tag) noexcept {
  return (static_cast<std::uint64_t>(id_of(receiver)) << 32) | static_cast<std::uint32_t>(tag);
}
constexpr int nccl_tag_of(std::uint64_t data_tag) noexcept {
  return static_cast<int>(static_cast<std::uint32_t>(data_tag));
}
constexpr std::uint32_t sequence_of(std::uint64_t data_tag) noexcept {
  return static_cast<std::uint32_t>(data_tag >> (32 + kIdBits));
}
static_assert(data_tag(0xffabcde12345, -1) + 7 * kNextInSequence == 0x00712345'ffffffff);
static_assert(nccl_tag_of(0xfff12345'fffffffe) == -2 && sequence_of(0xfff12345'fffffffe) == kSequenceSpace - 1);

}  // namespace weft
