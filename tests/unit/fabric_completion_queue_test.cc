#include "transports/fabric/completion_queue.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/fabric_fake/fake_fabric.h"
#include "tests/support/fabric_node.h"

namespace weft::fabric {
namespace {

using test::ErrorText;
using test::FabricNode;
using test::FakeFabric;
using test::PostFault;
using test::Selector;

class CompletionQueueTest : public testing::Test {
 public:
  void start(ErrorText text = ErrorText::kInBuffer) {
    test::FakeOptions options;
    options.error_text = text;
    fake = std::make_unique<FakeFabric>(options);
    auto opened = FabricNode::open(fake->library());
    ASSERT_TRUE(opened.has_value());
    node = std::move(*opened);
    const auto known = node->know(*node);
    ASSERT_TRUE(known.has_value());
    self = *known;
  }
  void send(Operation& operation, std::size_t size = 1) {
    ASSERT_EQ(node->endpoint->tagged_send(bytes.data(), size, nullptr, self, 1, operation).status, PostStatus::kPosted);
  }
  void receive(Operation& operation, std::size_t size = 1) {
    ASSERT_EQ(node->endpoint->tagged_receive(room.data(), size, nullptr, 1, operation).status, PostStatus::kPosted);
  }
  CompletionError next_error() {
    auto error = node->read_error();
    EXPECT_TRUE(error.has_value());
    return error.value_or(CompletionError{});
  }

  std::unique_ptr<FakeFabric> fake;
  std::unique_ptr<FabricNode> node;
  fi_addr_t self = FI_ADDR_UNSPEC;
  std::array<std::byte, 64> bytes{};
  std::array<std::byte, 64> room{};
  Operation first{OperationKind::kSend, 0, this};
  Operation second{OperationKind::kSend, 1, this};
  Operation third{OperationKind::kSend, 2, this};
};

TEST_F(CompletionQueueTest, EmptyQueueReadsZero) {
  ASSERT_NO_FATAL_FAILURE(start());
  std::array<Completion, 4> out{};
  EXPECT_EQ(node->completions->read(out), 0);
}

TEST_F(CompletionQueueTest, ReadsABatchInOrder) {
  ASSERT_NO_FATAL_FAILURE(start());
  send(first);
  send(second);
  send(third);
  std::array<Completion, 2> out{};
  ASSERT_EQ(node->completions->read(out), 2);
  EXPECT_EQ(out[0].op_context, &first);
  EXPECT_EQ(out[1].op_context, &second);
  ASSERT_EQ(node->completions->read(out), 1);
  EXPECT_EQ(out[0].op_context, &third);
}

TEST_F(CompletionQueueTest, SuccessesComeBeforeTheErrorBehindThem) {
  ASSERT_NO_FATAL_FAILURE(start());
  fake->faults().on_post(test::kSends, Selector::nth(2), PostFault::fail(FI_EIO, 71));
  send(first);
  send(second);
  send(third);
  std::array<Completion, 4> out{};
  ASSERT_EQ(node->completions->read(out), 1);
  EXPECT_EQ(out[0].op_context, &first);
  EXPECT_EQ(node->completions->read(out), -FI_EAVAIL);
  EXPECT_EQ(node->completions->read(out), -FI_EAVAIL) << "until it is fetched";
  CompletionError error;
  ASSERT_TRUE(node->completions->read_error(error));
  EXPECT_EQ(error.operation, &second);
  EXPECT_EQ(error.error, FI_EIO);
  EXPECT_EQ(error.provider_error, 71);
  EXPECT_STREQ(error.text, "fake error 71");
  ASSERT_EQ(node->completions->read(out), 1);
  EXPECT_EQ(out[0].op_context, &third);
}

TEST_F(CompletionQueueTest, NoErrorToFetch) {
  ASSERT_NO_FATAL_FAILURE(start());
  CompletionError error;
  EXPECT_FALSE(node->completions->read_error(error));
  send(first);
  EXPECT_FALSE(node->completions->read_error(error));
}

TEST_F(CompletionQueueTest, ErrorWithoutAnOperationHasNone) {
  ASSERT_NO_FATAL_FAILURE(start());
  fake->faults().on_post(test::kSends, Selector::nth(1), PostFault::fail(FI_EIO, 3, true));
  send(first);
  const CompletionError error = next_error();
  EXPECT_EQ(error.operation, nullptr);
  EXPECT_EQ(error.provider_error, 3);
}

TEST_F(CompletionQueueTest, TextMayBeStatic) {
  ASSERT_NO_FATAL_FAILURE(start(ErrorText::kStatic));
  fake->faults().on_post(test::kSends, Selector::nth(1), PostFault::fail(FI_EIO));
  send(first);
  EXPECT_STREQ(next_error().text, "a fake error");
}

TEST_F(CompletionQueueTest, TextMayBeMissing) {
  ASSERT_NO_FATAL_FAILURE(start(ErrorText::kNone));
  fake->faults().on_post(test::kSends, Selector::nth(1), PostFault::fail(FI_EIO));
  send(first);
  EXPECT_STREQ(next_error().text, "");
}

TEST_F(CompletionQueueTest, TruncationTellsBothParts) {
  ASSERT_NO_FATAL_FAILURE(start());
  receive(first, 10);
  send(second, 25);
  const CompletionError error = next_error();
  EXPECT_EQ(error.operation, &first);
  EXPECT_EQ(error.error, FI_ETRUNC);
  EXPECT_EQ(error.length, 10U);
  EXPECT_EQ(error.overflow, 15U);
  const auto sent = node->read();
  ASSERT_TRUE(sent.has_value()) << "the sender's side succeeds";
  EXPECT_EQ(sent->op_context, &second);
}

}  // namespace
}  // namespace weft::fabric
