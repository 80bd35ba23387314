#include "bench/rendezvous.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <array>

#include <functional>
#include <thread>

#include "bench/rendezvous_server.h"

namespace weft::bench {
namespace {

using namespace std::chrono_literals;

/// A server for `size` ranks on a port of its own. To be destroyed after the clients.
class Meeting {
 public:
  explicit Meeting(int size, std::chrono::milliseconds limit = 20s) : size_(size) {
    Descriptor listener = listen_on({"127.0.0.1", 0}).value();
    where_ = {"127.0.0.1", port_of(listener.get())};
    server_ = RendezvousServer::start(std::move(listener), size, limit);
  }

  const HostPort& where() const { return where_; }

  Result<Rendezvous> join(int rank, std::chrono::milliseconds limit = 20s) const {
    return Rendezvous::join(where_, rank, size_, limit);
  }

  /// Runs `part` for each of the ranks in a thread of its own.
  void run(std::initializer_list<int> ranks, const std::function<void(int)>& part) const {
    std::vector<std::thread> threads;
    for (const int rank : ranks) threads.emplace_back(part, rank);
    for (std::thread& thread : threads) thread.join();
  }

 private:
  int size_;
  HostPort where_;
  std::unique_ptr<RendezvousServer> server_;
};

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

/// A connection that speaks something else.
class Stranger {
 public:
  explicit Stranger(const HostPort& where) : fd_(connect_to(where, Clock::now() + 5s).value()) {}
  void say(const std::string& text) const { send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL); }
  /// True when the other side closes within 8 s.
  bool is_closed() const {
    pollfd wait{fd_.get(), POLLIN, 0};
    char letter = 0;
    return poll(&wait, 1, 8000) == 1 && recv(fd_.get(), &letter, 1, 0) <= 0;
  }

 private:
  Descriptor fd_;
};

/// All ranks join, gather their number, and leave.
void expect_normal_run(const Meeting& meeting) {
  meeting.run({0, 1, 2}, [&](int rank) {
    auto rendezvous = meeting.join(rank);
    ASSERT_TRUE(rendezvous) << rendezvous.error().what;
    const auto all = rendezvous->all_gather_value(10 * rank);
    ASSERT_TRUE(all);
    EXPECT_EQ(*all, (std::vector<int>{0, 10, 20}));
    rendezvous->leave();
  });
}

TEST(RendezvousTest, GathersPartsOfAnySizeInRankOrder) {
  const Meeting meeting(3);
  meeting.run({2, 0, 1}, [&](int rank) {
    auto rendezvous = meeting.join(rank);
    ASSERT_TRUE(rendezvous) << rendezvous.error().what;
    for (int turn = 0; turn < 20; ++turn) {
      const std::string mine(static_cast<std::size_t>(rank * 100'000 + turn), static_cast<char>('a' + rank));
      const auto all = rendezvous->all_gather(bytes_of(mine));
      ASSERT_TRUE(all) << all.error().what;
      for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ((*all)[i], Bytes(i * 100'000 + static_cast<std::size_t>(turn), std::byte('a' + i)));
      }
    }
    rendezvous->leave();
  });
}

TEST(RendezvousTest, IgnoresStrangersWhoTalkGarbage) {
  const Meeting meeting(3);
  const Stranger web(meeting.where());
  const Stranger brief(meeting.where());
  const Stranger binary(meeting.where());
  web.say("GET / HTTP/1.0\r\n\r\n");
  brief.say("x");
  // The right magic, but a payload that nobody who has not been introduced may send.
  FrameHeader huge{.kind = FrameKind::kHello, .rank = 1, .value = 3, .bytes = 1U << 30};
  binary.say(std::string(reinterpret_cast<const char*>(&huge), sizeof huge));
  EXPECT_TRUE(web.is_closed());
  EXPECT_TRUE(brief.is_closed());
  EXPECT_TRUE(binary.is_closed());
  expect_normal_run(meeting);
}

TEST(RendezvousTest, IgnoresStrangersWhoSayNothing) {
  const Meeting meeting(3);
  const Stranger silent(meeting.where());
  expect_normal_run(meeting);
  EXPECT_TRUE(silent.is_closed());
}

TEST(RendezvousTest, RefusesAFrameBeforeTheHello) {
  const Meeting meeting(3);
  const Stranger hasty(meeting.where());
  const FrameHeader gather{.kind = FrameKind::kGather};
  hasty.say(std::string(reinterpret_cast<const char*>(&gather), sizeof gather));
  EXPECT_TRUE(hasty.is_closed());
  expect_normal_run(meeting);
}

TEST(RendezvousTest, RefusesASecondProcessOfOneRank) {
  const Meeting meeting(2);
  // Whichever of the two comes first is taken, the other refused.
  std::array<Result<Rendezvous>, 2> joined{fail(Code::kInternal, ""), fail(Code::kInternal, "")};
  std::thread one([&] { joined[0] = meeting.join(1); });
  std::thread other([&] { joined[1] = meeting.join(1); });
  std::this_thread::sleep_for(300ms);
  auto zero = meeting.join(0);
  one.join();
  other.join();
  ASSERT_TRUE(zero) << zero.error().what;
  ASSERT_NE(joined[0].has_value(), joined[1].has_value());
  auto& taken = joined[0] ? joined[0] : joined[1];
  const auto& refused = joined[0] ? joined[1] : joined[0];
  EXPECT_NE(refused.error().what.find("rank 1 is already here"), std::string::npos) << refused.error().what;
  std::thread leaving([&] { taken->leave(); });
  zero->leave();
  leaving.join();
}

TEST(RendezvousTest, RefusesRanksAndSizesThatDoNotFit) {
  const Meeting meeting(2);
  const auto of_other_size = Rendezvous::join(meeting.where(), 0, 3, 5s);
  ASSERT_FALSE(of_other_size);
  EXPECT_NE(of_other_size.error().what.find("this run has 2 ranks, not 3"), std::string::npos);
  const auto no_such = Rendezvous::join(meeting.where(), 2, 2, 5s);
  ASSERT_FALSE(no_such);
  EXPECT_NE(no_such.error().what.find("no rank 2 among 2"), std::string::npos);
}

TEST(RendezvousTest, NamesTheRanksThatNeverArrive) {
  const Meeting meeting(4, 500ms);
  meeting.run({0, 2}, [&](int rank) {
    const auto rendezvous = meeting.join(rank);
    ASSERT_FALSE(rendezvous);
    EXPECT_EQ(rendezvous.error().what, "ranks 1, 3 did not arrive within 0.5 s");
  });
}

TEST(RendezvousTest, NamesTheRankThatDoesNotComeToTheBarrier) {
  const Meeting meeting(3, 500ms);
  meeting.run({0, 1, 2}, [&](int rank) {
    auto rendezvous = meeting.join(rank);
    ASSERT_TRUE(rendezvous) << rendezvous.error().what;
    if (rank == 1) {
      const auto deadline = Clock::now() + 10s;
      while (!rendezvous->failure() && Clock::now() < deadline) std::this_thread::sleep_for(10ms);
      EXPECT_TRUE(rendezvous->failure());
      return;
    }
    const auto status = rendezvous->barrier();
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().what, "rank 1 did not come to the barrier within 1 s of the others");
  });
}

TEST(RendezvousTest, ARankThatDiesEndsTheBarrierOfTheOthers) {
  const Meeting meeting(3);
  const auto start = Clock::now();
  meeting.run({0, 1, 2}, [&](int rank) {
    auto rendezvous = meeting.join(rank);
    ASSERT_TRUE(rendezvous) << rendezvous.error().what;
    if (rank == 2) return;  // its connection closes without a goodbye
    const auto status = rendezvous->barrier();
    ASSERT_FALSE(status);
    EXPECT_TRUE(status.error().what.starts_with("rank 2 (pid ")) << status.error().what;
    ASSERT_TRUE(rendezvous->failure());
    EXPECT_EQ(rendezvous->failure()->rank, 2);
  });
  EXPECT_LT(Clock::now() - start, 5s);
}

TEST(RendezvousTest, AReportedFailureReachesEverybodyOnce) {
  const Meeting meeting(3);
  meeting.run({0, 1, 2}, [&](int rank) {
    auto rendezvous = meeting.join(rank);
    ASSERT_TRUE(rendezvous) << rendezvous.error().what;
    if (rank == 1) {
      rendezvous->report_failure("it broke");
      // What is reported later is a consequence, not the cause.
      rendezvous->report_failure("another");
    }
    const auto status = rendezvous->barrier();
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().what, "it broke");
    EXPECT_EQ(rendezvous->failure()->rank, 1);
  });
}

TEST(RendezvousTest, TheEndOfRankZeroIsNoticed) {
  auto meeting = std::make_unique<Meeting>(2);
  std::thread zero([&] {
    auto rendezvous = meeting->join(0);
    ASSERT_TRUE(rendezvous);
    rendezvous->leave();
  });
  auto one = meeting->join(1);
  zero.join();
  ASSERT_TRUE(one);
  // The server gives a rank that does not leave a few seconds, then ends without it.
  std::thread end([&] { meeting.reset(); });
  const auto status = one->barrier();
  end.join();
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().what.find("rank 0 is gone"), std::string::npos) << status.error().what;
}

TEST(RendezvousTest, NobodyListeningIsATimeout) {
  Descriptor unused = listen_on({"127.0.0.1", 0}).value();
  const HostPort where{"127.0.0.1", port_of(unused.get())};
  unused = Descriptor();
  const auto rendezvous = Rendezvous::join(where, 1, 2, 300ms);
  ASSERT_FALSE(rendezvous);
  EXPECT_NE(rendezvous.error().what.find("is rank 0 running there?"), std::string::npos);
}

TEST(RendezvousTest, APortInUseIsAClearError) {
  const Descriptor held = listen_on({"127.0.0.1", 0}).value();
  const auto second = listen_on({"127.0.0.1", port_of(held.get())});
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().what.find("Address already in use"), std::string::npos) << second.error().what;
  EXPECT_NE(second.error().what.find("--rendezvous"), std::string::npos);
}

TEST(RendezvousTest, HostAndPortAreChecked) {
  EXPECT_EQ(parse_host_port("node7:5000")->host, "node7");
  EXPECT_EQ(parse_host_port("[::1]:5000")->host, "::1");
  EXPECT_EQ(parse_host_port("[::1]:5000")->port, 5000);
  for (const char* bad : {"", "node7", ":5000", "node7:", "node7:0", "node7:65536", "node7:http", "node7:50x"}) {
    EXPECT_FALSE(parse_host_port(bad)) << bad;
  }
}

TEST(FrameTest, UnpackRefusesWhatPackCannotHaveMade) {
  const std::vector<Bytes> parts = {Bytes(3), Bytes(), Bytes(5)};
  Bytes packed = pack(parts);
  EXPECT_EQ(unpack(packed, 3).value(), parts);
  EXPECT_FALSE(unpack(packed, 2));
  EXPECT_FALSE(unpack(packed, 4));
  packed.pop_back();
  EXPECT_FALSE(unpack(packed, 3));
}

}  // namespace
}  // namespace weft::bench
