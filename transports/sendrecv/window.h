// How far the two ends of a connection may run apart, and why a 12-bit sequence number is enough.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/wire.h"

namespace weft::sendrecv {

/// NCCL has at most NCCL_NET_MAX_REQUESTS = 32 requests in flight on a communicator (net.h), a receive of up to 8
/// buffers counting as one; the sender answers such a receive with one request per buffer.
inline constexpr std::size_t kMaxGroup = 8;
inline constexpr std::size_t kRecvRequests = 32;
inline constexpr std::size_t kSendRequests = kRecvRequests * kMaxGroup;

/// The sender stops when this many of its messages have not been reported as received. It bounds what the provider
/// must hold for a receiver that is late.
inline constexpr std::uint32_t kSendWindow = 1024;
/// The receiver reports after every so many messages: rarely enough to cost nothing, often enough never to stop a
/// sender whose receiver keeps up.
inline constexpr std::uint32_t kCreditEvery = 256;

// Claim: at any time, among the messages and receives of one tag that are not yet matched, no two have sequence
// numbers that agree modulo kSequenceSpace.
//
// Let C be the number of messages received on the connection. Receives live in a ring of kRecvRequests slots that is
// filled in order and never skips a slot still in use, so a receive is posted only when the request kRecvRequests
// before it has ended: all unmatched receives lie within kSendRequests consecutive sub-receives, of which the oldest
// unmatched one has at least C - kSendRequests received before it. The sender has sent fewer than A + kSendWindow
// messages, where A <= C is the last report it has seen. So from the oldest unmatched message to the newest message
// or receive there are at most kSendRequests + kSendWindow + kSendRequests messages of the connection, and at most as
// many of any one tag.
static_assert(2 * kSendRequests + kSendWindow < kSequenceSpace);
// The sender is never stopped for good: when it is stopped, kSendWindow messages are unreported, and a receiver that
// has received kCreditEvery of them reports.
static_assert(kCreditEvery + kSendRequests < kSendWindow);

}  // namespace weft::sendrecv
