#include "tests/support/comm_pair.h"

#include <gtest/gtest.h>

#include "tests/support/give_up.h"
#include "transports/sendrecv/progress.h"

namespace weft::test {
namespace {

using sendrecv::RecvComm;
using sendrecv::Request;
using sendrecv::SendComm;

std::byte pattern(std::uint64_t seed, std::size_t place) noexcept {
  const std::uint64_t mixed = (seed + place + 1) * 0x9e3779b97f4a7c15;
  return static_cast<std::byte>(mixed >> 56);
}

}  // namespace

DeviceOptions patient_options() {
  DeviceOptions options;
  options.connect_timeout = std::chrono::seconds(120);
  options.peer_check = std::chrono::seconds(120);
  options.stall_warning = std::chrono::milliseconds(0);
  return options;
}

std::unique_ptr<Device> open_device(const FakeFabric& fake, const DeviceOptions& options, bool auto_progress,
                                    std::size_t nic) {
  auto infos = value_or_give_up(fake.library().discover(sendrecv::hints("")));
  if (nic >= infos.size()) give_up("the fake offers no such NIC");
  if (auto_progress) infos[nic].get()->domain_attr->data_progress = FI_PROGRESS_AUTO;
  return value_or_give_up(sendrecv::open_device(fake.library(), infos[nic], options));
}

std::unique_ptr<Listener> listen_on(Device& device, Handle& handle) {
  return value_or_give_up(sendrecv::listen(device, handle));
}

Result<CommPair> try_connect(Device& from, Device& to, const std::function<void()>& while_waiting) {
  Handle handle{};
  TRY(const auto listener, sendrecv::listen(to, handle));
  CommPair pair;
  while (!pair.send || !pair.receive) {
    if (!pair.send) {
      TRY(auto comm, sendrecv::connect(from, handle));
      pair.send.reset(comm.release());
    }
    if (!pair.receive) {
      TRY(auto comm, sendrecv::accept(*listener));
      pair.receive.reset(comm.release());
    }
    if (while_waiting) while_waiting();
  }
  return pair;
}

CommPair connect(Device& from, Device& to) { return value_or_give_up(try_connect(from, to)); }

bool poll_until(const std::function<bool()>& poll, std::chrono::milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  do {
    if (poll()) return true;
  } while (Clock::now() < deadline);
  return false;
}

void progress(Device& device) {
  const SpinGuard guard(device.lock());
  sendrecv::progress(device);
}

PostStatus try_send(SendComm& comm, std::span<const std::byte> bytes, int tag, Request*& out) {
  return comm.send(bytes.data(), bytes.size(), tag, nullptr, out);
}

PostStatus try_receive(RecvComm& comm, std::span<const Buffer> buffers, Request*& out, bool optional) {
  std::array<void*, sendrecv::kMaxGroup> data{};
  std::array<std::size_t, sendrecv::kMaxGroup> sizes{};
  std::array<int, sendrecv::kMaxGroup> tags{};
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    data[i] = buffers[i].bytes.data();
    sizes[i] = buffers[i].bytes.size();
    tags[i] = buffers[i].tag;
  }
  return comm.receive(static_cast<int>(buffers.size()), data.data(), sizes.data(), tags.data(), nullptr, optional, out);
}

Request* send(SendComm& comm, std::span<const std::byte> bytes, int tag, const std::function<void()>& meanwhile) {
  Request* request = nullptr;
  poll_until([&] {
    if (meanwhile) meanwhile();
    return try_send(comm, bytes, tag, request) != PostStatus::kAgain;
  });
  return request;
}

Request* receive(RecvComm& comm, std::span<const Buffer> buffers, bool optional,
                 const std::function<void()>& meanwhile) {
  Request* request = nullptr;
  poll_until([&] {
    if (meanwhile) meanwhile();
    return try_receive(comm, buffers, request, optional) != PostStatus::kAgain;
  });
  return request;
}

TestStatus finish(std::span<Request* const> requests, std::chrono::milliseconds limit) {
  std::vector<Request*> left(requests.begin(), requests.end());
  auto outcome = TestStatus::kPending;
  poll_until(
      [&] {
        std::erase_if(left, [&](Request* each) {
          const TestStatus status = sendrecv::test(*each, nullptr);
          if (status == TestStatus::kFailed) outcome = TestStatus::kFailed;
          return status == TestStatus::kDone;
        });
        return left.empty() || outcome == TestStatus::kFailed;
      },
      limit);
  return left.empty() ? TestStatus::kDone : outcome;
}

TestStatus finish(Request* request, int* sizes, std::chrono::milliseconds limit) {
  auto outcome = TestStatus::kPending;
  poll_until(
      [&] {
        outcome = sendrecv::test(*request, sizes);
        return outcome != TestStatus::kPending;
      },
      limit);
  return outcome;
}

void fill(std::span<std::byte> bytes, std::uint64_t seed) {
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = pattern(seed, i);
}

std::size_t wrong_bytes(std::span<const std::byte> bytes, std::uint64_t seed) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) wrong += bytes[i] != pattern(seed, i) ? 1 : 0;
  return wrong;
}

Stranger::Stranger(const FakeFabric& fake) : node_(value_or_give_up(FabricNode::open(fake.library()))) {}

fi_addr_t Stranger::reach(Device& to) { return value_or_give_up(node_->addresses->insert(to.address())); }

void Stranger::settle(Device& to) {
  for (int i = 0; i < 4; ++i) {
    progress(to);
    while (node_->read() || node_->read_error()) {
    }
  }
}

PostStatus Stranger::send_bytes(Device& to, std::span<const std::byte> bytes) {
  const auto posted = node_->endpoint->send(bytes.data(), bytes.size(), nullptr, reach(to), operation_);
  settle(to);
  return posted.status;
}

PostStatus Stranger::send_tagged(Device& to, std::span<const std::byte> bytes, std::uint64_t tag) {
  const auto posted = node_->endpoint->tagged_send(bytes.data(), bytes.size(), nullptr, reach(to), tag, operation_);
  settle(to);
  return posted.status;
}

ConnectRequest make_request(Device& device, const Handle& bytes, std::span<const std::byte> reply_to) {
  ConnectHandle handle;
  std::memcpy(&handle, bytes.data(), sizeof handle);
  ConnectRequest request{};
  request.nonce = handle.nonce;
  request.connector = 0x1234'5678'9abc'def0;
  request.pid = 4711;
  request.address_size = static_cast<std::uint16_t>(reply_to.size());
  std::memcpy(request.address, reply_to.data(), std::min(reply_to.size(), sizeof request.address));
  std::strcpy(request.host, "stranger");
  request.header =
      make_header(ControlType::kConnectRequest, device.options().transport, wire_size(request), handle.listener);
  return request;
}

}  // namespace weft::test
