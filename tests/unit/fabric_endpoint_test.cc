#include "transports/fabric/endpoint.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "tests/fabric_fake/fake_fabric.h"
#include "tests/support/alloc_counter.h"
#include "tests/support/fabric_node.h"
#include "tests/support/lock_counter.h"

namespace weft::fabric {
namespace {

using test::Delivery;
using test::FabricNode;
using test::FakeFabric;
using test::PostFault;
using test::Selector;
using test::Verb;

class EndpointTest : public testing::Test {
 public:
  void start(test::FakeOptions options = {}) {
    fake = std::make_unique<FakeFabric>(std::move(options));
    auto one = FabricNode::open(fake->library());
    auto two = FabricNode::open(fake->library());
    ASSERT_TRUE(one.has_value() && two.has_value());
    a = std::move(*one);
    b = std::move(*two);
    const auto known = a->know(*b);
    ASSERT_TRUE(known.has_value()) << known.error().what;
    to_b = *known;
  }

  std::unique_ptr<FakeFabric> fake;
  std::unique_ptr<FabricNode> a;
  std::unique_ptr<FabricNode> b;
  fi_addr_t to_b = FI_ADDR_UNSPEC;
  Operation sent{OperationKind::kSend, 1, this};
  Operation received{OperationKind::kReceive, 2, this};
  std::array<char, 16> in{};
};

TEST_F(EndpointTest, SendAndReceiveCarryTheBytes) {
  ASSERT_NO_FATAL_FAILURE(start());
  ASSERT_EQ(b->endpoint->receive(in.data(), in.size(), nullptr, received).status, PostStatus::kPosted);
  ASSERT_EQ(a->endpoint->send("hello", 6, nullptr, to_b, sent).status, PostStatus::kPosted);
  const auto at_b = b->read();
  ASSERT_TRUE(at_b.has_value());
  EXPECT_EQ(at_b->op_context, &received);
  EXPECT_EQ(at_b->len, 6U);
  EXPECT_STREQ(in.data(), "hello");
  const auto at_a = a->read();
  ASSERT_TRUE(at_a.has_value());
  EXPECT_EQ(at_a->op_context, &sent);
  EXPECT_EQ(fake->posts(Verb::kSend), 1U);
  EXPECT_EQ(fake->posts(Verb::kReceive), 1U);
}

TEST_F(EndpointTest, TaggedSendMeetsTheReceiveOfItsTag) {
  ASSERT_NO_FATAL_FAILURE(start());
  std::array<char, 16> other{};
  Operation waiting(OperationKind::kReceive, 3, this);
  ASSERT_EQ(b->endpoint->tagged_receive(other.data(), other.size(), nullptr, 5, waiting).status, PostStatus::kPosted);
  ASSERT_EQ(b->endpoint->tagged_receive(in.data(), in.size(), nullptr, 7, received).status, PostStatus::kPosted);
  ASSERT_EQ(a->endpoint->tagged_send("seven", 6, nullptr, to_b, 7, sent).status, PostStatus::kPosted);
  const auto at_b = b->read();
  ASSERT_TRUE(at_b.has_value());
  EXPECT_EQ(at_b->op_context, &received);
  EXPECT_EQ(at_b->tag, 7U);
  EXPECT_STREQ(in.data(), "seven");
  EXPECT_EQ(other[0], '\0');
  EXPECT_TRUE(b->endpoint->cancel(waiting));
}

TEST_F(EndpointTest, AgainIsAValueAndLeavesNothingBehind) {
  ASSERT_NO_FATAL_FAILURE(start());
  fake->faults().on_post(test::kAnyVerb, Selector::from(1, 2), PostFault::again());
  const PostResult first = a->endpoint->tagged_send("x", 1, nullptr, to_b, 1, sent);
  EXPECT_EQ(first.status, PostStatus::kAgain);
  EXPECT_EQ(first.error, 0);
  EXPECT_EQ(b->endpoint->tagged_receive(in.data(), in.size(), nullptr, 1, received).status, PostStatus::kAgain);
  EXPECT_FALSE(a->read().has_value());
  EXPECT_EQ(a->endpoint->tagged_send("x", 1, nullptr, to_b, 1, sent).status, PostStatus::kPosted);
  EXPECT_TRUE(a->read().has_value());
}

TEST_F(EndpointTest, FullQueuesSayAgain) {
  test::FakeOptions options;
  options.nics = {{.tx_size = 2, .rx_size = 2}};
  ASSERT_NO_FATAL_FAILURE(start(options));
  fake->faults().delivery = Delivery::kManual;
  std::array<Operation, 3> more{
      {{OperationKind::kSend, 0, this}, {OperationKind::kSend, 1, this}, {OperationKind::kSend, 2, this}}};
  EXPECT_EQ(a->endpoint->send("x", 1, nullptr, to_b, more[0]).status, PostStatus::kPosted);
  EXPECT_EQ(a->endpoint->send("x", 1, nullptr, to_b, more[1]).status, PostStatus::kPosted);
  EXPECT_EQ(a->endpoint->send("x", 1, nullptr, to_b, more[2]).status, PostStatus::kAgain);
  EXPECT_TRUE(fake->step());
  EXPECT_EQ(a->endpoint->send("x", 1, nullptr, to_b, more[2]).status, PostStatus::kPosted);
}

TEST_F(EndpointTest, RejectedPostKeepsItsError) {
  ASSERT_NO_FATAL_FAILURE(start());
  fake->faults().on_post(test::kSends, Selector::nth(1), PostFault::reject(FI_ENOTCONN));
  const PostResult result = a->endpoint->send("x", 1, nullptr, to_b, sent);
  EXPECT_EQ(result.status, PostStatus::kFailed);
  EXPECT_EQ(result.error, FI_ENOTCONN);
}

TEST_F(EndpointTest, CancelEndsAReceiveWithAnError) {
  ASSERT_NO_FATAL_FAILURE(start());
  ASSERT_EQ(b->endpoint->tagged_receive(in.data(), in.size(), nullptr, 1, received).status, PostStatus::kPosted);
  EXPECT_TRUE(b->endpoint->cancel(received));
  const auto error = b->read_error();
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->operation, &received);
  EXPECT_EQ(error->error, FI_ECANCELED);
  EXPECT_FALSE(b->endpoint->cancel(received)) << "it is over";
}

TEST_F(EndpointTest, AddressLeadsThere) {
  ASSERT_NO_FATAL_FAILURE(start());
  const auto address = b->endpoint->address();
  ASSERT_TRUE(address.has_value());
  EXPECT_EQ(FakeFabric::endpoint_of(*address), 2U);
}

TEST_F(EndpointTest, AddressFailureIsReported) {
  ASSERT_NO_FATAL_FAILURE(start());
  fake->faults().on_setup(bit(test::SetupCall::kGetName), Selector::nth(1), FI_EIO);
  const auto address = b->endpoint->address();
  ASSERT_FALSE(address.has_value());
  EXPECT_NE(address.error().what.find("fi_getname failed on fake0"), std::string::npos);
}

TEST_F(EndpointTest, VerbsAllocateNothingAndLockNothing) {
  ASSERT_NO_FATAL_FAILURE(start());
  const test::AllocCounter allocations;
  const test::LockCounter locks;
  for (int i = 0; i < 100; ++i) {
    b->endpoint->tagged_receive(in.data(), in.size(), nullptr, 1, received);
    a->endpoint->tagged_send("x", 1, nullptr, to_b, 1, sent);
    Completion completions[4];
    ASSERT_EQ(b->completions->read(completions), 1);
    ASSERT_EQ(a->completions->read(completions), 1);
    // The other way round: the message waits for its receive.
    a->endpoint->tagged_send("x", 1, nullptr, to_b, 1, sent);
    b->endpoint->tagged_receive(in.data(), in.size(), nullptr, 1, received);
    ASSERT_EQ(b->completions->read(completions), 1);
    ASSERT_EQ(a->completions->read(completions), 1);
  }
  EXPECT_EQ(allocations.count(), 0U);
  EXPECT_EQ(locks.count(), 0U);
}

TEST(PostResultTest, TellsAgainFromFailure) {
  EXPECT_EQ(PostResult::from(0).status, PostStatus::kPosted);
  EXPECT_EQ(PostResult::from(-FI_EAGAIN).status, PostStatus::kAgain);
  EXPECT_EQ(PostResult::from(-FI_EAGAIN).error, 0);
  EXPECT_EQ(PostResult::from(-FI_EINVAL).status, PostStatus::kFailed);
  EXPECT_EQ(PostResult::from(-FI_EINVAL).error, FI_EINVAL);
}

}  // namespace
}  // namespace weft::fabric
