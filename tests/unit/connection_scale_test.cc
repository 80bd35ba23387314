// Many connections, many times: what is shared stays shared, and nothing grows.
#include <gtest/gtest.h>
#include <malloc.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "tests/support/comm_pair.h"
#include "tests/support/log_capture.h"
#include "tests/support/sanitizers.h"

namespace weft {
namespace {

using test::CommPair;
using test::DevicePair;
using test::Handle;

struct Sizes {
  std::size_t registry;
  std::size_t peers;
  std::size_t connectors;
  std::size_t closing;
  std::size_t control_sends;
  bool operator==(const Sizes&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Sizes& sizes) {
  return out << sizes.registry << " registered, " << sizes.peers << " peers, " << sizes.connectors << " attempts, "
             << sizes.closing << " closing, " << sizes.control_sends << " control messages under way";
}
Sizes sizes_of(Device& device) {
  const SpinGuard guard(device.lock());
  return {device.registry().size(), device.peers().size(), device.connectors().size(), device.closing_count(),
          device.control().sends_in_flight()};
}

std::size_t open_files() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}
std::size_t threads() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator("/proc/self/task")) ++count;
  return count;
}
/// Bytes that the allocator has given out.
std::size_t heap() {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
  return test::kSanitized ? 0 : mallinfo2().uordblks + mallinfo2().hblkhd;
#else
  return 0;
#endif
}

/// Connects all of `handles` at once, as NCCL does when a communicator starts.
struct Crowd {
  explicit Crowd(std::size_t count) : handles(count), listeners(count), sends(count), receives(count) {}

  void connect(Device& from, Device& to) {
    for (std::size_t i = 0; i < handles.size(); ++i) listeners[i] = test::listen_on(to, handles[i]);
    ASSERT_TRUE(test::poll_until(
        [&] {
          bool all = true;
          for (std::size_t i = 0; i < handles.size(); ++i) {
            if (!sends[i]) sends[i].reset(sendrecv::connect(from, handles[i]).value().release());
            if (!receives[i]) receives[i].reset(sendrecv::accept(*listeners[i]).value().release());
            all = all && sends[i] && receives[i];
          }
          return all;
        },
        std::chrono::seconds(300)));
    listeners.clear();
  }

  std::vector<Handle> handles;
  std::vector<std::unique_ptr<Listener>> listeners;
  std::vector<test::SendEnd> sends;
  std::vector<test::RecvEnd> receives;
};

TEST(ConnectionScaleTest, AThousandConnectionsMadeAtOnceShareOneEndpointAndOnePeerEntry) {
  DevicePair pair;
  const std::size_t objects = pair.fake.open_objects();
  Crowd crowd(1000);
  crowd.connect(*pair.near, *pair.far);
  EXPECT_EQ(pair.fake.open_objects(), objects);
  EXPECT_EQ(sizes_of(*pair.near).peers, 1U);
  EXPECT_EQ(sizes_of(*pair.far).peers, 1U);
  EXPECT_EQ(sizes_of(*pair.near).registry, 1000U);
  // Each carries its own data.
  std::vector<std::array<std::byte, 16>> out(1000);
  std::vector<std::array<std::byte, 16>> in(1000);
  std::vector<sendrecv::Request*> requests;
  for (std::size_t i = 0; i < 1000; ++i) {
    test::fill(out[i], i);
    requests.push_back(test::send(*crowd.sends[i], out[i], 0, [&] { pair.progress(); }));
    requests.push_back(test::receive(*crowd.receives[999 - i], std::array{test::Buffer{in[999 - i]}}, false,
                                     [&] { pair.progress(); }));
  }
  ASSERT_EQ(test::finish(requests), TestStatus::kDone);
  for (std::size_t i = 0; i < 1000; ++i) ASSERT_EQ(test::wrong_bytes(in[i], i), 0U) << i;
}

TEST(ConnectionScaleTest, ManyAtOnceArriveThoughMessagesWaitForControlReceives) {
  test::FakeOptions options;
  options.nics.front().tx_size = 20;
  DevicePair pair(options);
  auto& faults = pair.fake.faults();
  faults.delivery = test::Delivery::kOnRead;
  faults.delay_reads = 50;
  faults.reorder_window = 64;
  Crowd crowd(500);
  crowd.connect(*pair.near, *pair.far);
}

TEST(ConnectionScaleTest, IdsAreNotUsedAgainAtOnce) {
  DevicePair pair;
  std::set<std::uint32_t> seen;
  for (int i = 0; i < 200; ++i) {
    Handle handle{};
    EXPECT_TRUE(seen.insert(id_of(test::listen_on(*pair.far, handle)->key())).second) << "listener " << i;
    const CommPair comms = pair.connect();
    EXPECT_TRUE(seen.insert(id_of(comms.receive->key())).second) << "communicator " << i;
  }
}

TEST(ConnectionScaleTest, TenThousandCyclesLeaveNothingBehind) {
  DevicePair pair;
  std::array<std::byte, 100> out{};
  std::array<std::byte, 100> in{};
  const auto cycle = [&](int i) {
    const CommPair comms = pair.connect();
    if (i % 10 != 0) return;
    sendrecv::Request* const received = test::receive(*comms.receive, std::array{test::Buffer{in}});
    sendrecv::Request* const sent = test::send(*comms.send, out);
    ASSERT_EQ(test::finish(std::array{sent, received}), TestStatus::kDone);
  };
  for (int i = 0; i < 300; ++i) cycle(i);
  pair.progress();
  const Sizes near = sizes_of(*pair.near);
  const Sizes far = sizes_of(*pair.far);
  const std::size_t objects = pair.fake.open_objects();
  const std::size_t files = open_files();
  const std::size_t running = threads();
  const std::size_t bytes = heap();
  for (int i = 0; i < 10'000; ++i) {
    cycle(i);
    if (HasFatalFailure()) return;
  }
  pair.progress();
  EXPECT_EQ(sizes_of(*pair.near), near);
  EXPECT_EQ(sizes_of(*pair.far), far);
  EXPECT_EQ(near, (Sizes{0, 1, 0, 0, 0}));
  EXPECT_EQ(pair.fake.open_objects(), objects);
  EXPECT_EQ(open_files(), files);
  EXPECT_EQ(threads(), running);
  EXPECT_LE(heap(), bytes + 4096) << "bytes more in use than after 300 cycles: " << heap() - bytes;
}

TEST(ConnectionScaleTest, ThousandRefusedAttemptsLeaveNothingBehind) {
  test::LogCapture::current().expect_warning("refused");
  DevicePair pair;
  const Sizes before = sizes_of(*pair.near);
  for (int i = 0; i < 1000; ++i) {
    Handle handle{};
    test::listen_on(*pair.far, handle).reset();
    ASSERT_TRUE(test::poll_until([&] {
      test::progress(*pair.far);
      return !sendrecv::connect(*pair.near, handle).has_value();
    }));
  }
  pair.progress();
  pair.progress();
  EXPECT_EQ(sizes_of(*pair.near), before);
  EXPECT_EQ(sizes_of(*pair.far), before);
}

TEST(ConnectionScaleTest, DevicesOpenAndCloseWithoutATrace) {
  const test::FakeFabric fake;
  std::size_t files = 0;
  for (int i = 0; i < 50; ++i) {
    const auto near = test::open_device(fake);
    const auto far = test::open_device(fake);
    (void)test::connect(*near, *far);
    if (i == 0) files = open_files();
  }
  EXPECT_EQ(fake.open_objects(), 0U);
  EXPECT_EQ(open_files(), files);
}

}  // namespace
}  // namespace weft
