// Calls that cannot be right get an error and one warning, and break nothing.
#include <climits>

#include "tests/plugin/harness.h"

namespace weft::test {
namespace {

using nccl::ncclInvalidArgument;
using nccl::ncclInvalidUsage;
using nccl::ncclSuccess;

/// A pointer that is not null and that a result must replace.
void* garbage() {
  static int anything = 0;
  return &anything;
}

class ArgumentTest : public EveryVersionTest {};
WEFT_FOR_EVERY_VERSION(ArgumentTest);

TEST_P(ArgumentTest, DeviceOutOfRange) {
  for (const int dev : {-1, 1, INT_MAX, INT_MIN}) {
    SCOPED_TRACE(dev);
    nccl::ncclNetProperties_v12_t props{};
    EXPECT_EQ(net().properties(dev, &props), ncclInvalidArgument);
    expect_warning("getProperties failed: there is no device " + std::to_string(dev));
    Handle handle{};
    void* comm = garbage();
    EXPECT_EQ(net().listen(dev, handle.data(), &comm), ncclInvalidArgument);
    EXPECT_EQ(comm, nullptr);
    expect_warning("listen failed: there is no device");
    comm = garbage();
    EXPECT_EQ(net().connect(dev, handle.data(), &comm), ncclInvalidArgument);
    EXPECT_EQ(comm, nullptr);
    expect_warning("connect failed: there is no device");
  }
}

TEST_P(ArgumentTest, NullPointers) {
  Handle handle{};
  void* comm = garbage();
  EXPECT_EQ(net().devices(nullptr), ncclInvalidArgument);
  expect_warning("devices failed: ndev is null");
  EXPECT_EQ(net().properties(0, nullptr), ncclInvalidArgument);
  expect_warning("getProperties failed: props is null");
  EXPECT_EQ(net().listen(0, handle.data(), nullptr), ncclInvalidArgument);
  EXPECT_EQ(net().listen(0, nullptr, &comm), ncclInvalidArgument);
  EXPECT_EQ(comm, nullptr);
  EXPECT_EQ(net().connect(0, handle.data(), nullptr), ncclInvalidArgument);
  EXPECT_EQ(net().connect(0, nullptr, &comm), ncclInvalidArgument);
  EXPECT_EQ(net().accept(nullptr, &comm), ncclInvalidArgument);
  EXPECT_EQ(net().accept(garbage(), nullptr), ncclInvalidArgument);
  EXPECT_EQ(net().close_send(nullptr), ncclInvalidArgument);
  EXPECT_EQ(net().close_recv(nullptr), ncclInvalidArgument);
  EXPECT_EQ(net().close_listen(nullptr), ncclInvalidArgument);
  EXPECT_EQ(net().reg_mr(nullptr, &handle, sizeof handle, nccl::kPtrHost, &comm), ncclInvalidArgument);
  EXPECT_EQ(net().dereg_mr(nullptr, nullptr), ncclInvalidArgument);
  EXPECT_EQ(net().test(nullptr, nullptr, nullptr), ncclInvalidArgument);
  int done = 7;
  EXPECT_EQ(net().test(nullptr, &done, nullptr), ncclInvalidArgument);
  EXPECT_EQ(done, 0);
  EXPECT_EQ(warnings_with("failed: ").size(), 13U) << "one warning for each";
  expect_warnings("failed: ");
}

TEST_P(ArgumentTest, HandleThatIsNotOne) {
  Handle handle{};
  void* comm = garbage();
  EXPECT_NE(net().connect(0, handle.data(), &comm), ncclSuccess);
  EXPECT_EQ(comm, nullptr);
  expect_warning("connect failed: connect handle refused");
}

TEST_P(ArgumentTest, CommunicatorOfTheWrongKind) {
  Connection connection(net(), net());
  Handle handle{};
  void* listener = nullptr;
  ASSERT_EQ(net().listen(0, handle.data(), &listener), ncclSuccess);
  char byte = 0;
  void* data = &byte;
  std::size_t size = 1;
  int tag = 0;
  void* memory = nullptr;
  void* request = garbage();
  EXPECT_EQ(net().isend(connection.recv_comm(), data, size, tag, memory, &request), ncclInvalidArgument);
  EXPECT_EQ(request, nullptr);
  request = garbage();
  EXPECT_EQ(net().irecv(connection.send_comm(), 1, &data, &size, &tag, &memory, &request), ncclInvalidArgument);
  EXPECT_EQ(request, nullptr);
  EXPECT_EQ(net().isend(listener, data, size, tag, memory, &request), ncclInvalidArgument);
  EXPECT_EQ(net().accept(connection.send_comm(), &request), ncclInvalidArgument);
  EXPECT_EQ(net().close_send(connection.recv_comm()), ncclInvalidArgument);
  EXPECT_EQ(net().close_recv(listener), ncclInvalidArgument);
  EXPECT_EQ(net().close_listen(connection.send_comm()), ncclInvalidArgument);
  EXPECT_EQ(net().reg_mr(listener, data, size, nccl::kPtrHost, &memory), ncclInvalidArgument);
  int done = 0;
  EXPECT_EQ(net().test(connection.send_comm(), &done, nullptr), ncclInvalidArgument);
  expect_warnings("failed: the communicator is null or no");
  expect_warnings("failed: the request is null or not");
  EXPECT_EQ(net().close_listen(listener), ncclSuccess);
  // Still in order.
  connection.transfer(pattern(100, 1), 100, 0);
}

TEST_P(ArgumentTest, ClosedTwice) {
  Handle handle{};
  void* listener = nullptr;
  ASSERT_EQ(net().listen(0, handle.data(), &listener), ncclSuccess);
  EXPECT_EQ(net().close_listen(listener), ncclSuccess);
  EXPECT_EQ(net().close_listen(listener), ncclInvalidArgument);
  expect_warning("closeListen failed: the listener or communicator is not open");
  void* comm = garbage();
  EXPECT_EQ(net().accept(listener, &comm), ncclInvalidArgument);
  EXPECT_EQ(comm, nullptr);
  expect_warning("accept failed: the listener or communicator is not open");
}

TEST_P(ArgumentTest, SizesTheAbiCannotSay) {
  Connection connection(net(), net());
  char byte = 0;
  void* data = &byte;
  int tag = 0;
  void* memory = nullptr;
  // 2 GiB: one more than an int holds, negative where the ABI's sizes are int.
  std::size_t size = static_cast<std::size_t>(INT_MAX) + 1;
  void* request = garbage();
  EXPECT_EQ(net().isend(connection.send_comm(), data, size, tag, memory, &request), ncclInvalidArgument);
  EXPECT_EQ(request, nullptr);
  const std::string why = net().version() < 9 ? "the size is negative" : "a transfer of 2147483648 bytes";
  expect_warning("isend failed: " + why);
  request = garbage();
  EXPECT_EQ(net().irecv(connection.recv_comm(), 1, &data, &size, &tag, &memory, &request), ncclInvalidArgument);
  EXPECT_EQ(request, nullptr);
  expect_warning("irecv failed: " + why);
  if (net().version() < 8) {
    EXPECT_EQ(net().reg_mr(connection.send_comm(), data, size, nccl::kPtrHost, &memory), ncclInvalidArgument);
    expect_warning("regMr failed: the size is negative");
  }
  connection.transfer(pattern(100, 1), 100, 0);
}

TEST_P(ArgumentTest, BuffersOfAReceive) {
  Connection connection(net(), net());
  char byte = 0;
  std::vector<void*> data(9, &byte);
  std::vector<std::size_t> sizes(9, 1);
  std::vector<int> tags(9, 0);
  std::vector<void*> memory(9, nullptr);
  for (const int count : {-1, 0, 9, INT_MAX}) {
    SCOPED_TRACE(count);
    void* request = garbage();
    // The driver narrows sizes for old versions, so it must not be told of more than there are.
    auto* const some_sizes = count > 9 ? nullptr : sizes.data();
    EXPECT_EQ(net().irecv(connection.recv_comm(), count, data.data(), some_sizes, tags.data(), memory.data(), &request),
              ncclInvalidArgument);
    EXPECT_EQ(request, nullptr);
    expect_warning("irecv failed: " + std::to_string(count) + " buffers; a receive takes 1 to 8");
  }
  data[0] = nullptr;
  void* request = garbage();
  EXPECT_EQ(net().irecv(connection.recv_comm(), 1, data.data(), sizes.data(), tags.data(), memory.data(), &request),
            ncclInvalidArgument);
  EXPECT_EQ(request, nullptr);
  expect_warning("irecv failed: data[0] is null");
  EXPECT_EQ(net().isend(connection.send_comm(), nullptr, 1, 0, nullptr, &request), ncclInvalidArgument);
  expect_warning("isend failed: data is null");
  connection.transfer(pattern(100, 1), 100, 0);
}

TEST_P(ArgumentTest, Registrations) {
  Connection connection(net(), net());
  char bytes[64];
  void* mhandle = garbage();
  EXPECT_EQ(net().reg_mr(connection.send_comm(), nullptr, 64, nccl::kPtrHost, &mhandle), ncclInvalidArgument);
  EXPECT_EQ(mhandle, nullptr);
  mhandle = garbage();
  EXPECT_EQ(net().reg_mr(connection.send_comm(), bytes, 0, nccl::kPtrHost, &mhandle), ncclInvalidArgument);
  EXPECT_EQ(mhandle, nullptr);
  EXPECT_EQ(net().reg_mr(connection.send_comm(), bytes, 64, 0x40, &mhandle), ncclInvalidArgument);
  EXPECT_EQ(net().reg_mr(connection.send_comm(), bytes, 64, nccl::kPtrHost, nullptr), ncclInvalidArgument);
  expect_warnings("regMr failed: ");
  mhandle = garbage();
  EXPECT_EQ(net().reg_mr_dmabuf(connection.send_comm(), bytes, 64, nccl::kPtrCuda, 0, -1, &mhandle),
            ncclInvalidArgument);
  EXPECT_EQ(mhandle, nullptr);
  expect_warning("regMrDmaBuf failed: the dma-buf's file descriptor is -1");
  EXPECT_EQ(net().dereg_mr(connection.send_comm(), nullptr), ncclInvalidArgument);
  EXPECT_EQ(net().dereg_mr(connection.send_comm(), bytes), ncclInvalidArgument);
  expect_warnings("deregMr failed: ");
}

class ContextTest : public PluginTest {};

TEST_F(ContextTest, FinalizedTwice) {
  const auto net = start(12);
  EXPECT_EQ(net->finalize(), ncclSuccess);
  EXPECT_EQ(net->finalize(), ncclInvalidArgument);  // its warning goes to standard error: the logger has been let go
  Handle handle{};
  void* comm = garbage();
  EXPECT_EQ(net->listen(0, handle.data(), &comm), ncclInvalidArgument);
  EXPECT_EQ(comm, nullptr);
  int count = 7;
  EXPECT_EQ(net->devices(&count), ncclInvalidUsage);
  EXPECT_EQ(count, 0);
}

TEST_F(ContextTest, NullContext) {
  const auto* table = static_cast<const nccl::ncclNet_v12_t*>(library().symbol("ncclNetPlugin_v12"));
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->init(nullptr, 1, nullptr, capturing_logger(), nullptr), ncclInvalidArgument);
  EXPECT_EQ(table->finalize(nullptr), ncclInvalidArgument);
}

}  // namespace
}  // namespace weft::test
