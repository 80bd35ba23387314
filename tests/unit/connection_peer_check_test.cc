// The question whether a peer's process is still there, on the loopback interface.
#include "transports/connection/peer_check.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "tests/support/comm_pair.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

using Answer = SocketProbe::Answer;

/// A socket that listens on the loopback interface until stop().
class LocalListener {
 public:
  LocalListener() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address_;
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address_), size), 0);
    EXPECT_EQ(::listen(socket_, 4), 0);
    EXPECT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&address_), &size), 0);
  }
  ~LocalListener() { stop(); }
  LocalListener(const LocalListener&) = delete;
  LocalListener& operator=(const LocalListener&) = delete;
  void stop() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }
  std::span<const std::byte> address() const { return std::as_bytes(std::span(&address_, 1)); }

 private:
  int socket_;
  sockaddr_in address_{};
};

Answer ask(std::span<const std::byte> address, int& error) {
  SocketProbe probe;
  EXPECT_TRUE(probe.start(address));
  auto answer = Answer::kPending;
  test::poll_until([&] { return (answer = probe.poll(error)) != Answer::kPending; });
  EXPECT_FALSE(probe.running());
  return answer;
}

std::size_t open_files() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

TEST(SocketProbeTest, ListeningProcessIsAlive) {
  const LocalListener listener;
  int error = -1;
  EXPECT_EQ(ask(listener.address(), error), Answer::kAlive);
  EXPECT_EQ(error, 0);
}

TEST(SocketProbeTest, ProcessThatNoLongerListensIsGone) {
  LocalListener listener;
  listener.stop();
  int error = 0;
  EXPECT_EQ(ask(listener.address(), error), Answer::kGone);
  EXPECT_EQ(error, ECONNREFUSED);
}

TEST(SocketProbeTest, AddressesOfOtherKindsAreNotAskedAfter) {
  SocketProbe probe;
  const std::array<std::byte, 16> zeroes{};
  std::array<std::byte, 256> long_one{};
  long_one[0] = std::byte{AF_INET};
  std::array<std::byte, 16> local{};
  local[0] = std::byte{AF_UNIX};
  EXPECT_FALSE(probe.start(local));
  EXPECT_FALSE(probe.start(zeroes));
  EXPECT_FALSE(probe.start({}));
  EXPECT_FALSE(probe.start(std::span(zeroes).first(1)));
  EXPECT_FALSE(probe.start(long_one));
  EXPECT_FALSE(probe.running());
}

TEST(SocketProbeTest, AddressCutShortSaysNothingAboutThePeer) {
  const LocalListener listener;
  int error = 0;
  EXPECT_EQ(ask(listener.address().first(4), error), Answer::kUnknown);
  EXPECT_EQ(error, EINVAL);
}

TEST(SocketProbeTest, EndsWithItsSocket) {
  const LocalListener listener;
  const std::size_t before = open_files();
  for (int i = 0; i < 3; ++i) {
    SocketProbe probe;
    ASSERT_TRUE(probe.start(listener.address()));
  }
  int error = 0;
  ask(listener.address(), error);
  EXPECT_EQ(open_files(), before);
}

TEST(PeerCheckTest, BackoffDoublesUpToItsLimit) {
  EXPECT_EQ(next_backoff(0ms, 1s), 1s);
  EXPECT_EQ(next_backoff(1s, 1s), 2s);
  EXPECT_EQ(next_backoff(20s, 1s), kMaxProbeBackoff);
}

TEST(PeerCheckTest, BackoffIsNeverBelowALongInterval) {
  // WEFT_PEER_CHECK_MS goes up to an hour, far above the limit of the backoff.
  EXPECT_EQ(next_backoff(0ms, 1h), 1h);
  EXPECT_EQ(next_backoff(1h, 1h), 1h);
}

}  // namespace
}  // namespace weft
