// The permission of the youngest receive, which waits for what its process does next.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "tests/support/rdma_pair.h"

namespace weft::rdma {
namespace {

using test::RdmaPair;
using test::Verb;

constexpr std::size_t kBytes = 64;

class HeldPermissionTest : public testing::Test {
 protected:
  HeldPermissionTest() { posts_.faults_are_noted(pair_); }

  /// What has been posted, in order.
  struct Posts {
    std::vector<Verb> verbs;
    void faults_are_noted(RdmaPair& pair) {
      // A rule that never fires sees everything.
      pair.fake.faults().on_post(test::kOneSided, test::Selector::never(), {}, [this](const test::PostEvent& event) {
        verbs.push_back(event.verb);
        return true;
      });
    }
  };

  Posts posts_;
  RdmaPair pair_;
};

TEST_F(HeldPermissionTest, IsNotWrittenByTheReceiveItself) {
  ASSERT_NE(pair_.receive(pair_.in(0, kBytes)), nullptr);
  EXPECT_TRUE(posts_.verbs.empty());
  EXPECT_EQ(pair_.try_send(pair_.out(0, kBytes)), nullptr);
}

TEST_F(HeldPermissionTest, IsWrittenByTheTestOfItsReceive) {
  Request* const request = pair_.receive(pair_.in(0, kBytes));
  EXPECT_EQ(rdma::test(*request, nullptr), TestStatus::kPending);
  EXPECT_EQ(posts_.verbs, std::vector{Verb::kWrite});
  EXPECT_NE(pair_.try_send(pair_.out(0, kBytes)), nullptr);
}

TEST_F(HeldPermissionTest, IsWrittenByTheNextReceive) {
  ASSERT_NE(pair_.receive(pair_.in(0, kBytes)), nullptr);
  ASSERT_NE(pair_.receive(pair_.in(kBytes, kBytes)), nullptr);
  EXPECT_EQ(posts_.verbs, std::vector{Verb::kWrite}) << "the first, not the second";
}

TEST_F(HeldPermissionTest, IsWrittenByWhateverReadsTheCompletionQueues) {
  ASSERT_NE(pair_.receive(pair_.in(0, kBytes)), nullptr);
  test::progress_rdma(*pair_.far);
  EXPECT_EQ(posts_.verbs, std::vector{Verb::kWrite});
  test::progress_rdma(*pair_.far);
  EXPECT_EQ(posts_.verbs.size(), 1U) << "once";
}

TEST_F(HeldPermissionTest, IsWrittenByAReceiveThatFindsNoRoom) {
  for (std::size_t i = 0; i < kRecvRequests; ++i) ASSERT_NE(pair_.receive(pair_.in(i * kBytes, kBytes)), nullptr);
  EXPECT_EQ(posts_.verbs.size(), kRecvRequests - 1);
  EXPECT_EQ(pair_.receive(pair_.in(0, kBytes)), nullptr);
  EXPECT_EQ(posts_.verbs.size(), kRecvRequests);
}

TEST_F(HeldPermissionTest, GoesBehindTheDataOfTheNextSend) {
  // A connection the other way, between the same two.
  test::Handle handle{};
  const auto listener = rdma::listen(*pair_.near, handle).value();
  std::unique_ptr<SendComm> sender;
  std::unique_ptr<RecvComm> receiver;
  while (!sender || !receiver) {
    if (!sender) sender = rdma::connect(*pair_.far, handle).value();
    if (!receiver) receiver = rdma::accept(*listener).value();
  }
  // The receiver's answer: it may send, and has a receive of its own held.
  void* data = nullptr;
  std::size_t size = 0;
  int tag = 0;
  Request* request = nullptr;
  ASSERT_EQ(receiver->receive(1, &data, &size, &tag, nullptr, false, request), PostStatus::kPosted);
  test::progress_rdma(*pair_.near);
  ASSERT_NE(pair_.receive(pair_.in(0, kBytes)), nullptr);
  posts_.verbs.clear();
  ASSERT_EQ(sender->send(nullptr, 0, 0, nullptr, request), PostStatus::kPosted);
  EXPECT_EQ(posts_.verbs, (std::vector{Verb::kWriteData, Verb::kWrite}));
  rdma::close(std::move(sender));
  rdma::close(std::move(receiver));
}

TEST_F(HeldPermissionTest, OfAClosedCommunicatorIsForgotten) {
  ASSERT_NE(pair_.receive(pair_.in(0, kBytes)), nullptr);
  pair_.close_receiver();
  const std::size_t posted = posts_.verbs.size();
  test::progress_rdma(*pair_.far);
  EXPECT_EQ(posts_.verbs.size(), posted);
}

TEST_F(HeldPermissionTest, OfACommunicatorThatIsDestroyedIsForgotten) {
  ASSERT_NE(pair_.receive(pair_.in(0, kBytes)), nullptr);
  {
    const SpinGuard guard(pair_.far->lock());
    pair_.receiver.reset();
  }
  test::progress_rdma(*pair_.far);
  EXPECT_TRUE(posts_.verbs.empty());
}

}  // namespace
}  // namespace weft::rdma
