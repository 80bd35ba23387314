// What the fake fabric complains about: each of these would fail the test that did it.
#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "tests/fabric_fake/fake_fabric.h"
#include "tests/support/fabric_pair.h"
#include "tests/support/log_capture.h"
#include "transports/fabric/memory_region.h"

namespace weft::test {
namespace {

class FakeChecksTest : public FabricPair {
 public:
  /// Exactly one complaint, with `part` in it.
  void expect_complaint(std::string_view part) {
    const auto complaints = fake->take_complaints();
    ASSERT_EQ(complaints.size(), 1U) << "expected: " << part;
    EXPECT_NE(complaints[0].find(part), std::string::npos) << complaints[0];
  }
  void start_strict() {
    FakeOptions options;
    options.nics = {{.mr_mode = FI_MR_LOCAL}};
    ASSERT_NO_FATAL_FAILURE(start(options));
  }
};

TEST_F(FakeChecksTest, OrderlyUseIsNoReasonToComplain) {
  ASSERT_NO_FATAL_FAILURE(start());
  receive(room());
  send("x");
  EXPECT_TRUE(fake->take_complaints().empty());
}

TEST_F(FakeChecksTest, QueueThatOverruns) {
  ASSERT_NO_FATAL_FAILURE(start({}, 2));
  send("1");
  send("2");
  EXPECT_TRUE(fake->take_complaints().empty());
  send("3");
  expect_complaint("overran");
}

TEST_F(FakeChecksTest, BufferThatChangesBeforeItsCompletion) {
  ASSERT_NO_FATAL_FAILURE(start());
  fake->faults().delivery = Delivery::kManual;
  std::string& bytes = buffer("0123456789");
  a->endpoint->tagged_send(bytes.data(), bytes.size(), nullptr, to_b, 0, operation());
  bytes[9] = '!';
  fake->run_until_idle();
  expect_complaint("a send buffer was changed");
}

TEST_F(FakeChecksTest, OperationThatIsUsedTwice) {
  ASSERT_NO_FATAL_FAILURE(start());
  fake->faults().delivery = Delivery::kManual;
  fabric::Operation& twice = operation();
  a->endpoint->tagged_send("1", 1, nullptr, to_b, 0, twice);
  a->endpoint->tagged_send("2", 1, nullptr, to_b, 0, twice);
  fake->run_until_idle();
  expect_complaint("context was changed or used again");
}

TEST_F(FakeChecksTest, ContextThatIsWrittenTo) {
  ASSERT_NO_FATAL_FAILURE(start());
  fabric::Operation& mine = operation();
  std::string& into = room();
  b->endpoint->tagged_receive(into.data(), into.size(), nullptr, 0, mine);
  mine.scratch.internal[7] = nullptr;
  send("x");
  expect_complaint("context was changed or used again");
}

TEST_F(FakeChecksTest, ShortContextIsLeftAloneBehindItsEnd) {
  FakeOptions options;
  options.nics = {{.mode = FI_CONTEXT}};
  ASSERT_NO_FATAL_FAILURE(start(options));
  fi_context2 context{};
  int mine = 0;
  context.internal[4] = &mine;
  std::string& into = room();
  ASSERT_EQ(fi_trecv(b->endpoint->get(), into.data(), 1, nullptr, FI_ADDR_UNSPEC, 0, 0, &context), 0);
  EXPECT_EQ(context.internal[4], &mine);
  EXPECT_NE(context.internal[3], nullptr);
}

TEST_F(FakeChecksTest, PostWithoutAContext) {
  ASSERT_NO_FATAL_FAILURE(start());
  EXPECT_EQ(fi_tsend(a->endpoint->get(), nullptr, 0, nullptr, to_b, 0, nullptr), 0);
  expect_complaint("without a context");
}

TEST_F(FakeChecksTest, PostWithoutARegistration) {
  ASSERT_NO_FATAL_FAILURE(start_strict());
  EXPECT_EQ(send("x").error, FI_EINVAL);
  expect_complaint("without a descriptor");
  EXPECT_EQ(receive(room()).error, FI_EINVAL);
  expect_complaint("without a descriptor");
  EXPECT_EQ(send("").status, PostStatus::kPosted) << "nothing to register";
}

TEST_F(FakeChecksTest, PostOutsideItsRegistration) {
  ASSERT_NO_FATAL_FAILURE(start_strict());
  std::string& bytes = buffer("0123456789");
  const auto region = fabric::MemoryRegion::open(*a->domain, {.data = bytes.data(), .size = 5}, FI_SEND);
  ASSERT_TRUE(region.has_value());
  void* const descriptor = region->descriptor();
  EXPECT_EQ(a->endpoint->send(bytes.data(), 5, descriptor, to_b, operation()).status, PostStatus::kPosted);
  EXPECT_EQ(a->endpoint->send(bytes.data() + 1, 5, descriptor, to_b, operation()).error, FI_EINVAL);
  expect_complaint("does not cover");
  EXPECT_EQ(a->endpoint->receive(bytes.data(), 5, descriptor, operation()).error, FI_EINVAL);
  expect_complaint("does not cover");
  EXPECT_EQ(b->endpoint->send(bytes.data(), 5, descriptor, to_a, operation()).error, FI_EINVAL);
  expect_complaint("does not cover");
}

TEST_F(FakeChecksTest, RegionClosedInUse) {
  ASSERT_NO_FATAL_FAILURE(start_strict());
  std::string& bytes = buffer("0123456789");
  {
    const auto region = fabric::MemoryRegion::open(*b->domain, {.data = bytes.data(), .size = 10}, FI_RECV);
    ASSERT_TRUE(region.has_value());
    b->endpoint->receive(bytes.data(), 10, region->descriptor(), operation());
  }
  expect_complaint("closed while an operation used it");
}

TEST_F(FakeChecksTest, RegionClosedUnderASend) {
  ASSERT_NO_FATAL_FAILURE(start_strict());
  fake->faults().delivery = Delivery::kManual;
  std::string& bytes = buffer("0123456789");
  void* descriptor = nullptr;
  {
    const auto region = fabric::MemoryRegion::open(*a->domain, {.data = bytes.data(), .size = 10}, FI_SEND);
    ASSERT_TRUE(region.has_value());
    descriptor = region->descriptor();
    a->endpoint->send(bytes.data(), 10, descriptor, to_b, operation());
  }
  expect_complaint("closed while an operation used it");
  EXPECT_EQ(a->endpoint->send(bytes.data(), 10, descriptor, to_b, operation()).error, FI_EINVAL);
  expect_complaint("descriptor of a closed memory region");
}

TEST_F(FakeChecksTest, SendToNobody) {
  ASSERT_NO_FATAL_FAILURE(start());
  EXPECT_EQ(a->endpoint->send(nullptr, 0, nullptr, 44, operation()).error, FI_EINVAL);
  expect_complaint("not in the address vector");
}

TEST_F(FakeChecksTest, SecondClose) {
  ASSERT_NO_FATAL_FAILURE(start());
  fi_av_attr attributes{};
  fid_av* av = nullptr;
  ASSERT_EQ(fi_av_open(a->domain->get(), &attributes, &av, nullptr), 0);
  EXPECT_EQ(fi_close(&av->fid), 0);
  EXPECT_EQ(fi_close(&av->fid), -FI_EINVAL);
  expect_complaint("address vector closed twice");
}

TEST_F(FakeChecksTest, TwoThreadsInOneQueue) {
  ASSERT_NO_FATAL_FAILURE(start());
  // A filter runs inside the post. Here it waits until another thread has come to the same queue.
  std::jthread other;
  std::atomic<bool> inside{false};
  fake->faults().on_post(kSends, Selector::never(), PostFault::again(), [&](const PostEvent&) {
    other = std::jthread([&] {
      inside = true;
      fi_cq_read(a->completions->get(), nullptr, 0);
    });
    while (!inside) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return true;
  });
  send("x");
  other.join();
  expect_complaint("two threads inside one completion queue");
}

TEST_F(FakeChecksTest, LeaksAreCounted) {
  ASSERT_NO_FATAL_FAILURE(start());
  const std::size_t before = fake->open_objects();
  fi_av_attr attributes{};
  fid_av* av = nullptr;
  ASSERT_EQ(fi_av_open(a->domain->get(), &attributes, &av, nullptr), 0);
  EXPECT_EQ(fake->open_objects(), before + 1);
  EXPECT_EQ(fi_close(&a->domain->get()->fid), -FI_EBUSY);
  EXPECT_EQ(fi_close(&av->fid), 0);
  EXPECT_EQ(fake->open_objects(), before);
}

}  // namespace
}  // namespace weft::test
