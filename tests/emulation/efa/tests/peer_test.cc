// A peer in a process of its own, on another host, and memory behind a descriptor.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

#include "tests/emulation/efa/tests/link.h"

namespace weft::emulation::efa {
namespace {

class PeerTest : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Fabrics, PeerTest, fabrics(), fabric_name);

// A station in a process of its own: it is told a card and tells its own, then progresses until it is killed.
class Peer {
 public:
  Peer(const std::string& fabric, const Card& ours) {
    int in[2], out[2];
    if (pipe(in) != 0 || pipe(out) != 0) throw std::runtime_error("pipe");
    pid_ = fork();
    if (pid_ == 0) {
      dup2(in[0], STDIN_FILENO);
      dup2(out[1], STDOUT_FILENO);
      for (const int end : {in[0], in[1], out[0], out[1]}) close(end);
      setenv("WEFT_LAB_NODE", "1", 1);
      execl("/proc/self/exe", "weft-efa-tests", "--peer", fabric.c_str(), nullptr);
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    ok_ = ::write(in[1], &ours, sizeof ours) == sizeof ours && read(out[0], &card_, sizeof card_) == sizeof card_;
    close(in[1]);
    close(out[0]);
  }
  ~Peer() { kill(); }

  bool is_up() const { return ok_; }
  const Card& card() const { return card_; }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_ = 0;
  bool ok_ = false;
  Card card_{};
};

TEST_P(PeerTest, KilledPeerIsAnErrorAndNothingElseSuffers) {
  Station station(GetParam(), 0);
  Peer peer(GetParam(), station.card());
  ASSERT_TRUE(peer.is_up());
  station.connect(peer.card());
  ASSERT_TRUE(station.write(1, 0, 4096));
  ASSERT_TRUE(run_until({&station}, [&] { return !station.events().empty(); }));
  EXPECT_EQ(station.events().front().error, 0);
  peer.kill();
  station.events().clear();
  ASSERT_TRUE(station.write(2, 0, 4096));
  ASSERT_TRUE(run_until({&station}, [&] { return !station.events().empty(); }));
  EXPECT_NE(station.events().front().error, 0);
  if (GetParam() == "efa-direct") {
    EXPECT_EQ(station.events().front().device_error, 13);
  }
  // The NIC of the dead host serves the next process there.
  Peer next(GetParam(), station.card());
  ASSERT_TRUE(next.is_up());
  station.connect(next.card());
  station.events().clear();
  ASSERT_TRUE(station.write(3, 0, 4096));
  ASSERT_TRUE(run_until({&station}, [&] { return !station.events().empty(); }));
  EXPECT_EQ(station.events().front().error, 0);
}

using DmaBufTest = Link;
INSTANTIATE_TEST_SUITE_P(Fabrics, DmaBufTest, fabrics(), fabric_name);

TEST_P(DmaBufTest, PeersWriteToMemoryBehindADescriptor) {
  const size_t length = 1 << 20;
  const int fd = memfd_create("dma-buf", MFD_CLOEXEC);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(ftruncate(fd, static_cast<off_t>(length)), 0);
  auto* mapped = static_cast<uint8_t*>(mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  ASSERT_NE(mapped, MAP_FAILED);
  receiver.register_dma_buf(fd, mapped, length);
  sender.connect(receiver.card());
  ASSERT_TRUE(sender.write(5, 0, length));
  ASSERT_TRUE(settle(1));
  EXPECT_EQ(memcmp(mapped, sender.outbox().data(), length), 0);
  munmap(mapped, length);
  close(fd);
}

}  // namespace

int run_peer(const char* fabric) {
  Card card;
  if (read(STDIN_FILENO, &card, sizeof card) != sizeof card) return 1;
  Station station(fabric, 0);
  station.connect(card);
  card = station.card();
  if (::write(STDOUT_FILENO, &card, sizeof card) != sizeof card) return 1;
  run_until({&station}, [] { return false; });
  return 0;
}

}  // namespace weft::emulation::efa
