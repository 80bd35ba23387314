// Data through every version of the ABI, over a real provider.
#include <climits>
#include <cstring>
#include <set>

#include "tests/plugin/harness.h"
#include "weft/log.h"

namespace weft::test {
namespace {

class LoopbackTest : public EveryVersionTest {};
WEFT_FOR_EVERY_VERSION(LoopbackTest);

TEST_P(LoopbackTest, HasEveryFunctionNcclCallsUnchecked) {
  EXPECT_TRUE(net().missing_functions().empty()) << net().missing_functions().front();
  EXPECT_STREQ(net().name(), "Weft");
}

TEST_P(LoopbackTest, PropertiesAreComplete) {
  int count = 0;
  ASSERT_EQ(net().devices(&count), nccl::ncclSuccess);
  ASSERT_EQ(count, 1) << "WEFT_INTERFACES names lo only";
  nccl::ncclNetProperties_v12_t props{};
  // What a version lacks stays at the value NCCL's adapters would give it.
  props.vProps = {1, {0}};
  props.maxP2pBytes = props.maxCollBytes = 1;
  props.maxMultiRequestSize = 1;
  props.railId = props.planeId = nccl::kNetIdUndefined;
  ASSERT_EQ(net().properties(0, &props), nccl::ncclSuccess);
  EXPECT_STREQ(props.name, "lo");
  EXPECT_EQ(props.pciPath, nullptr);
  EXPECT_NE(props.ptrSupport & nccl::kPtrHost, 0);
  EXPECT_GT(props.speed, 0);
  EXPECT_GT(props.maxComms, 0);
  EXPECT_GE(props.maxRecvs, 1);
  EXPECT_LE(props.maxRecvs, 8);
  EXPECT_EQ(props.netDeviceType, nccl::NCCL_NET_DEVICE_HOST);
  EXPECT_EQ(props.netDeviceVersion, nccl::kNetDeviceInvalidVersion);
  EXPECT_EQ(props.vProps.ndevs, 1);
  EXPECT_EQ(props.vProps.devs[0], 0);
  EXPECT_GE(props.maxP2pBytes, 1U);
  EXPECT_LE(props.maxP2pBytes, static_cast<std::size_t>(INT_MAX));
  EXPECT_GE(props.maxCollBytes, 1U);
  EXPECT_LE(props.maxCollBytes, static_cast<std::size_t>(INT_MAX));
  EXPECT_EQ(props.maxMultiRequestSize, 1);
  EXPECT_EQ(props.railId, nccl::kNetIdUndefined);
  EXPECT_EQ(props.planeId, nccl::kNetIdUndefined);
  if (net().version() >= 8) {
    EXPECT_EQ(props.regIsGlobal, 1);
  }
}

TEST_P(LoopbackTest, CarriesEverySize) {
  Connection connection(net(), net());
  unsigned seed = 0;
  for (const std::size_t size : {0UL, 1UL, 8UL, 4095UL, 65536UL, 1000003UL, 4UL << 20}) {
    SCOPED_TRACE(size);
    connection.transfer(pattern(size, ++seed), size, 7);
    if (HasFailure()) return;
  }
}

TEST_P(LoopbackTest, ReceiveMayBeLargerThanSend) {
  Connection connection(net(), net());
  connection.transfer(pattern(1000, 1), 1 << 20, 0);
  connection.transfer({}, 4096, 0);
}

TEST_P(LoopbackTest, GroupedReceiveMatchesByTag) {
  constexpr std::size_t kGroup = 8;
  nccl::ncclNetProperties_v12_t props{};
  ASSERT_EQ(net().properties(0, &props), nccl::ncclSuccess);
  ASSERT_EQ(props.maxRecvs, static_cast<int>(kGroup));

  Connection connection(net(), net());
  std::vector<std::vector<std::byte>> from;
  std::vector<std::vector<std::byte>> to;
  std::vector<void*> pointers;
  std::vector<std::size_t> room;
  std::vector<int> tags;
  std::vector<void*> to_mrs(kGroup);
  std::vector<void*> from_mrs(kGroup);
  for (std::size_t i = 0; i < kGroup; ++i) {
    from.push_back(pattern(1000 * (i + 1), static_cast<unsigned>(i)));
    to.emplace_back(10000);
    pointers.push_back(to.back().data());
    room.push_back(to.back().size());
    tags.push_back(static_cast<int>(100 + i));
    ASSERT_EQ(net().reg_mr(connection.recv_comm(), to[i].data(), to[i].size(), nccl::kPtrHost, &to_mrs[i]),
              nccl::ncclSuccess);
    ASSERT_EQ(net().reg_mr(connection.send_comm(), from[i].data(), from[i].size(), nccl::kPtrHost, &from_mrs[i]),
              nccl::ncclSuccess);
  }
  void* const receive = post_receive(net(), connection.recv_comm(), pointers, room, tags, to_mrs);
  std::vector<void*> requests{receive};
  // In another order than the receive names them.
  for (std::size_t i = kGroup; i-- > 0;) {
    requests.push_back(post_send(net(), connection.send_comm(), from[i].data(), from[i].size(), tags[i], from_mrs[i]));
  }
  const auto sizes = wait_for_all(net(), requests);
  for (std::size_t i = 0; i < kGroup; ++i) {
    EXPECT_EQ(sizes[0][i], static_cast<int>(from[i].size())) << "of tag " << tags[i];
    EXPECT_EQ(std::memcmp(to[i].data(), from[i].data(), from[i].size()), 0) << "of tag " << tags[i];
    EXPECT_EQ(net().dereg_mr(connection.recv_comm(), to_mrs[i]), nccl::ncclSuccess);
    EXPECT_EQ(net().dereg_mr(connection.send_comm(), from_mrs[i]), nccl::ncclSuccess);
  }
}

TEST_P(LoopbackTest, KeepsOrderWithThirtyTwoRequestsInFlight) {
  constexpr std::size_t kRequests = 32;
  constexpr std::size_t kSize = 5000;
  Connection connection(net(), net());
  std::vector<std::byte> to(kRequests * kSize);
  std::vector<std::byte> from = pattern(kRequests * kSize, 3);
  void* to_mr = nullptr;
  void* from_mr = nullptr;
  ASSERT_EQ(net().reg_mr(connection.recv_comm(), to.data(), to.size(), nccl::kPtrHost, &to_mr), nccl::ncclSuccess);
  ASSERT_EQ(net().reg_mr(connection.send_comm(), from.data(), from.size(), nccl::kPtrHost, &from_mr),
            nccl::ncclSuccess);
  std::vector<void*> requests;
  for (std::size_t i = 0; i < kRequests; ++i) {
    requests.push_back(post_receive(net(), connection.recv_comm(), {&to[i * kSize]}, {kSize}, {0}, {to_mr}));
  }
  for (std::size_t i = 0; i < kRequests; ++i) {
    requests.push_back(post_send(net(), connection.send_comm(), &from[i * kSize], kSize, 0, from_mr));
  }
  EXPECT_EQ(std::set<void*>(requests.begin(), requests.end()).size(), requests.size()) << "requests are not distinct";
  wait_for_all(net(), requests);
  EXPECT_EQ(to, from);
  EXPECT_EQ(net().dereg_mr(connection.recv_comm(), to_mr), nccl::ncclSuccess);
  EXPECT_EQ(net().dereg_mr(connection.send_comm(), from_mr), nccl::ncclSuccess);
}

TEST_P(LoopbackTest, OptionalCompletionOverwritesTheRequest) {
  Connection connection(net(), net());
  std::vector<std::byte> to(64);
  std::vector<std::byte> from = pattern(64, 9);
  void* data = to.data();
  std::size_t size = to.size();
  int tag = 0;
  const Registration to_memory(net(), connection.recv_comm(), to);
  const Registration from_memory(net(), connection.send_comm(), from);
  void* memory = to_memory.handle();
  void* receive = nullptr;
  ASSERT_TRUE(poll_until([&] {
    receive = reinterpret_cast<void*>(nccl::kNetOptionalRecvCompletion);  // as NCCL presets it
    EXPECT_EQ(net().irecv(connection.recv_comm(), 1, &data, &size, &tag, &memory, &receive), nccl::ncclSuccess);
    return receive != nullptr;
  }));
  ASSERT_NE(receive, reinterpret_cast<void*>(nccl::kNetOptionalRecvCompletion));
  void* const send = post_send(net(), connection.send_comm(), from.data(), from.size(), 0, from_memory.handle());
  wait_for_all(net(), {receive, send});
  // The receive may have ended before its data came; a message behind it cannot have.
  connection.transfer(pattern(10, 1), 10, 0);
  EXPECT_EQ(to, from);
}

TEST_P(LoopbackTest, FlushOfHostMemoryIsDoneAtOnce) {
  Connection connection(net(), net());
  std::vector<std::byte> to(64);
  void* mhandle = nullptr;
  ASSERT_EQ(net().reg_mr(connection.recv_comm(), to.data(), to.size(), nccl::kPtrHost, &mhandle), nccl::ncclSuccess);
  void* data = to.data();
  int size = 64;
  int garbage = 0;
  void* request = &garbage;
  EXPECT_EQ(net().iflush(connection.recv_comm(), 1, &data, &size, &mhandle, &request), nccl::ncclSuccess);
  EXPECT_EQ(request, nullptr);
  EXPECT_EQ(net().dereg_mr(connection.recv_comm(), mhandle), nccl::ncclSuccess);
}

TEST_P(LoopbackTest, RequestIsNullWhenNothingIsPosted) {
  Connection connection(net(), net());
  std::vector<std::byte> to(16);
  void* data = to.data();
  std::size_t size = to.size();
  int tag = 0;
  const Registration memory(net(), connection.recv_comm(), to);
  void* handle = memory.handle();
  std::vector<void*> posted;
  // More receives than a communicator keeps: sooner or later it must say "not now", by null.
  const bool refused = poll_until([&] {
    int garbage = 0;
    void* request = net().version() >= 9 ? nullptr : &garbage;
    EXPECT_EQ(net().irecv(connection.recv_comm(), 1, &data, &size, &tag, &handle, &request), nccl::ncclSuccess);
    if (request != nullptr) posted.push_back(request);
    return request == nullptr || posted.size() > 1000;
  });
  EXPECT_TRUE(refused);
  EXPECT_GE(posted.size(), 32U);
  EXPECT_LE(posted.size(), 1000U) << "no bound on receives in flight";
}

}  // namespace
}  // namespace weft::test
