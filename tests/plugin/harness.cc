#include "tests/plugin/harness.h"

#include <algorithm>
#include <random>

namespace weft::test {

Connection::Connection(Net& sender, Net& receiver, int dev) : sender_(sender), receiver_(receiver) {
  Handle handle{};
  void* listener = nullptr;
  EXPECT_EQ(receiver.listen(dev, handle.data(), &listener), nccl::ncclSuccess);
  if (listener == nullptr) return;
  auto result = nccl::ncclSuccess;
  const bool connected = poll_until([&] {
    if (send_comm_ == nullptr) result = std::max(result, sender.connect(dev, handle.data(), &send_comm_));
    if (recv_comm_ == nullptr) result = std::max(result, receiver.accept(listener, &recv_comm_));
    return result != nccl::ncclSuccess || (send_comm_ != nullptr && recv_comm_ != nullptr);
  });
  EXPECT_TRUE(connected) << "no connection in time";
  EXPECT_EQ(result, nccl::ncclSuccess);
  EXPECT_EQ(receiver.close_listen(listener), nccl::ncclSuccess);
}

Connection::~Connection() {
  if (send_comm_ != nullptr) {
    EXPECT_EQ(sender_.close_send(send_comm_), nccl::ncclSuccess);
  }
  if (recv_comm_ != nullptr) {
    EXPECT_EQ(receiver_.close_recv(recv_comm_), nccl::ncclSuccess);
  }
}

void Connection::transfer(std::span<const std::byte> data, std::size_t capacity, int tag) {
  // One byte behind the room, to see that nobody writes there; a registration cannot be empty.
  std::vector<std::byte> from(data.begin(), data.end());
  from.push_back(std::byte{0});
  std::vector<std::byte> to(capacity + 1, std::byte{0xee});
  void* from_mr = nullptr;
  void* to_mr = nullptr;
  ASSERT_EQ(sender_.reg_mr(send_comm_, from.data(), from.size(), nccl::kPtrHost, &from_mr), nccl::ncclSuccess);
  ASSERT_EQ(receiver_.reg_mr(recv_comm_, to.data(), to.size(), nccl::kPtrHost, &to_mr), nccl::ncclSuccess);

  void* const receive = post_receive(receiver_, recv_comm_, {to.data()}, {capacity}, {tag}, {to_mr});
  void* const send = post_send(sender_, send_comm_, from.data(), data.size(), tag, from_mr);
  ASSERT_NE(receive, nullptr);
  ASSERT_NE(send, nullptr);
  int sent = -1;
  int received = -1;
  int send_done = 0;
  int receive_done = 0;
  const bool finished = poll_until([&] {
    if (send_done == 0) {
      EXPECT_EQ(sender_.test(send, &send_done, &sent), nccl::ncclSuccess);
    }
    if (receive_done == 0) {
      EXPECT_EQ(receiver_.test(receive, &receive_done, &received), nccl::ncclSuccess);
    }
    return ::testing::Test::HasFailure() || (send_done != 0 && receive_done != 0);
  });
  ASSERT_TRUE(finished) << "no transfer in time: sent " << send_done << ", received " << receive_done;
  EXPECT_EQ(static_cast<std::size_t>(sent), data.size());
  EXPECT_EQ(static_cast<std::size_t>(received), data.size());
  EXPECT_TRUE(std::ranges::equal(data, std::span(to).first(data.size()))) << "wrong data";
  EXPECT_TRUE(std::ranges::all_of(std::span(to).subspan(data.size()), [](std::byte b) { return b == std::byte{0xee}; }))
      << "bytes behind the message were written";
  EXPECT_EQ(sender_.dereg_mr(send_comm_, from_mr), nccl::ncclSuccess);
  EXPECT_EQ(receiver_.dereg_mr(recv_comm_, to_mr), nccl::ncclSuccess);
}

Registration::Registration(Net& net, void* comm, std::vector<std::byte>& buffer) : net_(net), comm_(comm) {
  EXPECT_EQ(net.reg_mr(comm, buffer.data(), buffer.size(), nccl::kPtrHost, &handle_), nccl::ncclSuccess);
}

Registration::~Registration() { EXPECT_EQ(net_.dereg_mr(comm_, handle_), nccl::ncclSuccess); }

void* post_send(Net& net, void* comm, void* data, std::size_t size, int tag, void* mhandle) {
  void* request = nullptr;
  auto result = nccl::ncclSuccess;
  EXPECT_TRUE(poll_until([&] {
    result = net.isend(comm, data, size, tag, mhandle, &request);
    return result != nccl::ncclSuccess || request != nullptr;
  })) << "isend took nothing in time";
  EXPECT_EQ(result, nccl::ncclSuccess);
  return request;
}

void* post_receive(Net& net, void* comm, std::vector<void*> data, std::vector<std::size_t> sizes, std::vector<int> tags,
                   std::vector<void*> mhandles) {
  void* request = nullptr;
  auto result = nccl::ncclSuccess;
  EXPECT_TRUE(poll_until([&] {
    request = nullptr;
    result = net.irecv(comm, static_cast<int>(data.size()), data.data(), sizes.data(), tags.data(), mhandles.data(),
                       &request);
    return result != nccl::ncclSuccess || request != nullptr;
  })) << "irecv took nothing in time";
  EXPECT_EQ(result, nccl::ncclSuccess);
  return request;
}

std::vector<std::vector<int>> wait_for_all(Net& net, const std::vector<void*>& requests) {
  // NCCL hands test() room for eight sizes.
  std::vector<std::vector<int>> sizes(requests.size(), std::vector<int>(8, -1));
  std::vector<int> done(requests.size(), 0);
  EXPECT_TRUE(poll_until([&] {
    bool all = true;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (done[i] != 0) continue;
      const auto result = net.test(requests[i], &done[i], sizes[i].data());
      EXPECT_EQ(result, nccl::ncclSuccess) << "request " << i;
      if (result != nccl::ncclSuccess) done[i] = 1;
      all = all && done[i] != 0;
    }
    return all;
  })) << "requests did not finish in time";
  return sizes;
}

std::vector<std::byte> pattern(std::size_t size, unsigned seed) {
  std::vector<std::byte> bytes(size);
  std::mt19937 random(seed);
  for (auto& byte : bytes) byte = static_cast<std::byte>(random() & 0xff);
  return bytes;
}

}  // namespace weft::test
