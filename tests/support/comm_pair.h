// Two processes in one: devices of the send/receive transport on a fake fabric, connections between them, and requests
// driven to their end. Everything is the real code; only the fabric is not.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tests/fabric_fake/fake_fabric.h"
#include "tests/support/fabric_node.h"
#include "transports/connection/device.h"
#include "transports/sendrecv/transport.h"
#include "weft/wire.h"

namespace weft::test {

/// Limits short enough for a test, checks of peers and warnings of stalls out of the way.
DeviceOptions patient_options();

/// Opens the `nic`-th NIC of the fake. Fails the test and throws when it cannot. `auto_progress` makes the provider say
/// that it moves data by itself.
std::unique_ptr<Device> open_device(const FakeFabric& fake, const DeviceOptions& options = patient_options(),
                                    bool auto_progress = false, std::size_t nic = 0);

struct Closer {
  void operator()(sendrecv::SendComm* comm) const noexcept {
    sendrecv::close(std::unique_ptr<sendrecv::SendComm>(comm));
  }
  void operator()(sendrecv::RecvComm* comm) const noexcept {
    sendrecv::close(std::unique_ptr<sendrecv::RecvComm>(comm));
  }
};
using SendEnd = std::unique_ptr<sendrecv::SendComm, Closer>;
using RecvEnd = std::unique_ptr<sendrecv::RecvComm, Closer>;

/// One connection. Its ends are closed by sendrecv::close, the receiving one first.
struct CommPair {
  SendEnd send;
  RecvEnd receive;
};

using Handle = std::array<std::byte, kHandleBytes>;
std::unique_ptr<Listener> listen_on(Device& device, Handle& handle);

/// Connects `from` to a new listener on `to`, both ends polled in turn. `while_waiting` runs between polls.
Result<CommPair> try_connect(Device& from, Device& to, const std::function<void()>& while_waiting = nullptr);
/// The same, for tests that are about something else: fails the test and throws when it cannot.
CommPair connect(Device& from, Device& to);

/// Calls `poll` until it returns true or `limit` has passed; returns whether it did.
bool poll_until(const std::function<bool()>& poll, std::chrono::milliseconds limit = std::chrono::seconds(120));
/// Lets a device make progress as NCCL's thread would between calls.
void progress(Device& device);

/// Two devices, one fake.
struct DevicePair {
  explicit DevicePair(const FakeOptions& fake_options = {}, const DeviceOptions& options = patient_options(),
                      bool auto_progress = false)
      : fake(fake_options),
        near(open_device(fake, options, auto_progress)),
        far(open_device(fake, options, auto_progress)) {}

  CommPair connect() { return test::connect(*near, *far); }
  void progress() {
    test::progress(*near);
    test::progress(*far);
  }

  FakeFabric fake;
  std::unique_ptr<Device> near;  ///< connects and sends; endpoint 1
  std::unique_ptr<Device> far;   ///< listens and receives; endpoint 2
};
inline constexpr std::size_t kNearEndpoint = 1;
inline constexpr std::size_t kFarEndpoint = 2;

/// One buffer of a receive.
struct Buffer {
  std::span<std::byte> bytes;
  int tag = 0;
};
PostStatus try_send(sendrecv::SendComm& comm, std::span<const std::byte> bytes, int tag, sendrecv::Request*& out);
PostStatus try_receive(sendrecv::RecvComm& comm, std::span<const Buffer> buffers, sendrecv::Request*& out,
                       bool optional = false);
/// Posts, retrying while the answer is "again"; null when it failed or `limit` has passed. The other side makes
/// progress only by `meanwhile`.
sendrecv::Request* send(sendrecv::SendComm& comm, std::span<const std::byte> bytes, int tag = 0,
                        const std::function<void()>& meanwhile = nullptr);
sendrecv::Request* receive(sendrecv::RecvComm& comm, std::span<const Buffer> buffers, bool optional = false,
                           const std::function<void()>& meanwhile = nullptr);

/// Tests the requests in turn until all are done (kDone) or one has failed; kPending when the limit has passed.
TestStatus finish(std::span<sendrecv::Request* const> requests,
                  std::chrono::milliseconds limit = std::chrono::seconds(120));
/// Tests one request until it is done; `sizes` as for sendrecv::test.
TestStatus finish(sendrecv::Request* request, int* sizes, std::chrono::milliseconds limit = std::chrono::seconds(120));

/// Bytes that differ from message to message and from place to place.
void fill(std::span<std::byte> bytes, std::uint64_t seed);
/// How many bytes are not what fill() wrote.
std::size_t wrong_bytes(std::span<const std::byte> bytes, std::uint64_t seed);

/// Somebody on the network who is no peer: a bare endpoint that sends what it likes.
class Stranger {
 public:
  explicit Stranger(const FakeFabric& fake);
  /// One untagged message to the device. Unless the fake holds it, or has no room for it, it has been delivered and
  /// read when this returns.
  PostStatus send_bytes(Device& to, std::span<const std::byte> bytes);
  /// One tagged message.
  PostStatus send_tagged(Device& to, std::span<const std::byte> bytes, std::uint64_t tag);
  std::vector<std::byte> address() const { return node_->endpoint->address().value(); }

  template <class Message>
  PostStatus send_control(Device& to, const Message& message) {
    return send_bytes(to, std::as_bytes(std::span(&message, 1)).first(wire_size(message)));
  }

 private:
  fi_addr_t reach(Device& to);
  void settle(Device& to);

  std::unique_ptr<FabricNode> node_;
  fabric::Operation operation_{fabric::OperationKind::kControl, 0, nullptr};
};

/// A connect request that a stranger could make: everything right but what the test changes.
ConnectRequest make_request(Device& device, const Handle& handle, std::span<const std::byte> reply_to);

}  // namespace weft::test
