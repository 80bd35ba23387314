// What a test can make go wrong on the fake fabric, and when things happen there.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/fabric_fake/fake_fabric.h"
#include "tests/support/fabric_pair.h"

namespace weft::test {
namespace {

class FakeFaultsTest : public FabricPair {
 public:
  /// What becomes of `count` sends in a row: P, A, F.
  std::string outcomes(int count, std::uint64_t tag = 0) {
    std::string text;
    for (int i = 0; i < count; ++i) text += "PAF"[static_cast<int>(send("x", tag).status)];
    return text;
  }
  /// The texts in the order in which they meet receives of one tag.
  std::vector<std::string> arrivals(std::size_t count) {
    std::vector<std::string*> rooms;
    rooms.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      rooms.push_back(&room(2));
      receive(*rooms.back());
    }
    fake->run_until_idle();
    std::vector<std::string> texts;
    texts.reserve(count);
    for (const std::string* each : rooms) texts.push_back(*each);
    return texts;
  }
};

TEST_F(FakeFaultsTest, NthPost) {
  ASSERT_NO_FATAL_FAILURE(start());
  fake->faults().on_post(kSends, Selector::nth(3), PostFault::again());
  EXPECT_EQ(outcomes(5), "PPAPP");
  EXPECT_EQ(fake->faults().fired(), 1U);
}

TEST_F(FakeFaultsTest, EveryKthPost) {
  ASSERT_NO_FATAL_FAILURE(start());
  fake->faults().on_post(kSends, Selector::every(2), PostFault::reject(FI_EIO));
  EXPECT_EQ(outcomes(6), "PFPFPF");
}

TEST_F(FakeFaultsTest, RangeOfPosts) {
  ASSERT_NO_FATAL_FAILURE(start());
  fake->faults().on_post(kSends, Selector::from(2, 2), PostFault::again());
  EXPECT_EQ(outcomes(5), "PAAPP");
}

TEST_F(FakeFaultsTest, AlwaysAndNever) {
  ASSERT_NO_FATAL_FAILURE(start());
  fake->faults().on_post(kSends, Selector::never(), PostFault::reject(FI_EIO));
  fake->faults().on_post(kSends, Selector::always(), PostFault::again());
  EXPECT_EQ(outcomes(3), "AAA");
}

TEST_F(FakeFaultsTest, ChanceRepeatsWithItsSeed) {
  std::set<std::string> different;
  for (const std::uint64_t seed : {1, 2, 3}) {
    std::string first;
    for (int repeat = 0; repeat < 2; ++repeat) {
      a.reset();
      b.reset();
      fake.reset();
      ASSERT_NO_FATAL_FAILURE(start());
      fake->faults().seed(seed);
      fake->faults().on_post(kSends, Selector::randomly(0.5), PostFault::again());
      const std::string outcome = outcomes(64);
      if (repeat == 0) first = outcome;
      EXPECT_EQ(outcome, first);
      different.insert(outcome);
    }
    const auto agains = std::ranges::count(first, 'A');
    EXPECT_GT(agains, 16);
    EXPECT_LT(agains, 48);
  }
  EXPECT_EQ(different.size(), 3U);
}

TEST_F(FakeFaultsTest, FilterNumbersOnlyWhatItTakes) {
  ASSERT_NO_FATAL_FAILURE(start());
  fake->faults().on_post(bit(Verb::kTaggedSend), Selector::nth(2), PostFault::again(),
                         [](const PostEvent& event) { return event.tag == 9 && event.from == 1 && event.to == 2; });
  EXPECT_EQ(outcomes(3, 8), "PPP");
  EXPECT_EQ(outcomes(3, 9), "PAP");
}

TEST_F(FakeFaultsTest, VerbsAreToldApart) {
  ASSERT_NO_FATAL_FAILURE(start());
  fake->faults().on_post(bit(Verb::kTaggedReceive), Selector::always(), PostFault::again());
  EXPECT_EQ(send("x").status, PostStatus::kPosted);
  EXPECT_EQ(receive(room()).status, PostStatus::kAgain);
  std::string& into = room();
  EXPECT_EQ(b->endpoint->receive(into.data(), into.size(), nullptr, operation()).status, PostStatus::kPosted);
}

TEST_F(FakeFaultsTest, FailedSendDeliversNothing) {
  ASSERT_NO_FATAL_FAILURE(start());
  fake->faults().on_post(kSends, Selector::nth(1), PostFault::fail(FI_EIO, 12));
  receive(room());
  EXPECT_EQ(send("x").status, PostStatus::kPosted);
  const auto error = a->read_error();
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->error, FI_EIO);
  EXPECT_EQ(error->provider_error, 12);
  EXPECT_NE(error->operation, nullptr);
  EXPECT_FALSE(b->read().has_value());
}

TEST_F(FakeFaultsTest, FailedReceiveTakesNothing) {
  ASSERT_NO_FATAL_FAILURE(start());
  fake->faults().on_post(kReceives, Selector::nth(1), PostFault::fail(FI_EIO));
  EXPECT_EQ(receive(room()).status, PostStatus::kPosted);
  EXPECT_TRUE(b->read_error().has_value());
  send("x");
  EXPECT_EQ(fake->unexpected_messages(2), 1U);
}

TEST_F(FakeFaultsTest, VanishedSendNeverEnds) {
  ASSERT_NO_FATAL_FAILURE(start());
  fake->faults().on_post(kSends, Selector::nth(1), PostFault::vanish());
  EXPECT_EQ(send("x").status, PostStatus::kPosted);
  EXPECT_EQ(fake->in_flight(), 0U);
  EXPECT_FALSE(a->read().has_value());
  EXPECT_EQ(fake->unexpected_messages(2), 0U);
}

TEST_F(FakeFaultsTest, ManualDeliveryWaitsForSteps) {
  ASSERT_NO_FATAL_FAILURE(start());
  fake->faults().delivery = Delivery::kManual;
  receive(room());
  send("1");
  send("2");
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(a->read().has_value());
  EXPECT_EQ(fake->in_flight(), 2U);
  EXPECT_TRUE(fake->step());
  EXPECT_TRUE(a->read().has_value());
  EXPECT_TRUE(b->read().has_value());
  EXPECT_EQ(fake->run_until_idle(), 1U);
  EXPECT_FALSE(fake->step());
}

TEST_F(FakeFaultsTest, DeliveryMayTakeSomeReads) {
  ASSERT_NO_FATAL_FAILURE(start());
  fake->faults().delivery = Delivery::kOnRead;
  fake->faults().delay_reads = 3;
  send("1");
  EXPECT_FALSE(a->read().has_value());
  EXPECT_FALSE(b->read().has_value());
  EXPECT_EQ(fake->unexpected_messages(2), 0U);
  EXPECT_TRUE(a->read().has_value()) << "any queue's reads count";
}

TEST_F(FakeFaultsTest, OrderIsKeptUnlessAsked) {
  ASSERT_NO_FATAL_FAILURE(start());
  fake->faults().delivery = Delivery::kManual;
  for (const char* text : {"00", "11", "22", "33"}) send(text);
  EXPECT_EQ(arrivals(4), (std::vector<std::string>{"00", "11", "22", "33"}));
}

TEST_F(FakeFaultsTest, ReorderingStaysInItsWindow) {
  ASSERT_NO_FATAL_FAILURE(start());
  fake->faults().delivery = Delivery::kManual;
  fake->faults().reorder_window = 4;
  constexpr std::size_t kMessages = 40;
  for (std::size_t i = 0; i < kMessages; ++i) send(std::to_string(10 + i));
  const auto texts = arrivals(kMessages);
  std::set<std::string> seen(texts.begin(), texts.end());
  EXPECT_EQ(seen.size(), kMessages) << "each arrives once";
  EXPECT_FALSE(std::ranges::is_sorted(texts));
  for (std::size_t place = 0; place < kMessages; ++place) {
    const auto number = static_cast<std::size_t>(std::stoi(texts[place]) - 10);
    EXPECT_LT(number, place + 4) << "no message overtakes more than the window's others";
  }
}

TEST_F(FakeFaultsTest, ReorderingRepeatsWithItsSeed) {
  std::vector<std::string> first;
  for (int repeat = 0; repeat < 2; ++repeat) {
    a.reset();
    b.reset();
    fake.reset();
    ASSERT_NO_FATAL_FAILURE(start());
    fake->faults().seed(5);
    fake->faults().delivery = Delivery::kManual;
    fake->faults().reorder_window = 8;
    for (const char* text : {"00", "11", "22", "33", "44", "55", "66", "77"}) send(text);
    const auto texts = arrivals(8);
    if (repeat == 0) first = texts;
    EXPECT_EQ(texts, first);
  }
}

TEST_F(FakeFaultsTest, HeldMessagesLetOthersPass) {
  ASSERT_NO_FATAL_FAILURE(start());
  fake->faults().hold = [](const PostEvent& event) { return event.tag == 1; };
  send("held", 1);
  send("free", 2);
  EXPECT_EQ(fake->in_flight(), 1U);
  EXPECT_EQ(fake->unexpected_messages(2), 1U);
  fake->faults().hold = nullptr;
  EXPECT_EQ(fake->run_until_idle(), 1U);
  EXPECT_EQ(fake->unexpected_messages(2), 2U);
}

TEST_F(FakeFaultsTest, DeadPeerRefuses) {
  ASSERT_NO_FATAL_FAILURE(start());
  fake->kill(2, Death::kRefusing);
  EXPECT_EQ(send("x").status, PostStatus::kPosted);
  const auto error = a->read_error();
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->error, FI_ECONNREFUSED);
}

TEST_F(FakeFaultsTest, ClosedPeerRefuses) {
  ASSERT_NO_FATAL_FAILURE(start());
  b.reset();
  send("x");
  const auto error = a->read_error();
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->error, FI_ECONNREFUSED);
}

TEST_F(FakeFaultsTest, SilentlyDeadPeerNeverAnswers) {
  ASSERT_NO_FATAL_FAILURE(start());
  fake->kill(2, Death::kSilent);
  EXPECT_EQ(send("x").status, PostStatus::kPosted);
  fake->run_until_idle();
  EXPECT_FALSE(a->read().has_value());
  EXPECT_FALSE(a->read_error().has_value());
}

TEST_F(FakeFaultsTest, DeathResetsLongMessagesThatWaitThere) {
  FakeOptions options;
  options.eager_bytes = 2;
  ASSERT_NO_FATAL_FAILURE(start(options));
  send("long");
  fake->kill(2, Death::kRefusing);
  const auto error = a->read_error();
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->error, FI_ECONNRESET);
}

TEST_F(FakeFaultsTest, DeadEndpointSendsNothing) {
  ASSERT_NO_FATAL_FAILURE(start());
  fake->faults().delivery = Delivery::kManual;
  send("under way");
  fake->kill(1, Death::kSilent);
  EXPECT_EQ(send("later").status, PostStatus::kPosted);
  EXPECT_EQ(fake->run_until_idle(), 0U);
  EXPECT_EQ(fake->unexpected_messages(2), 0U);
}

TEST_F(FakeFaultsTest, SetupCallsFailOnDemand) {
  ASSERT_NO_FATAL_FAILURE(start());
  fake->faults().on_setup(bit(SetupCall::kAvInsert) | bit(SetupCall::kGetName), Selector::nth(3), FI_ENOMEM);
  EXPECT_TRUE(a->know(*b).has_value());
  const auto third = a->know(*b);
  ASSERT_FALSE(third.has_value());
  EXPECT_EQ(third.error().number, FI_ENOMEM);
  EXPECT_TRUE(a->know(*b).has_value());
}

TEST(FailEachSetupCallTest, StopsWhenNothingFails) {
  std::vector<std::uint64_t> calls;
  const std::size_t faults = fail_each_setup_call({}, [&](FakeFabric& fake) {
    const bool found = fake.library().discover({.caps = FI_MSG, .provider = ""}).has_value() &&
                       fake.library().discover({.caps = FI_MSG, .provider = ""}).has_value();
    calls.push_back(fake.setup_calls());
    return found;
  });
  EXPECT_EQ(faults, 2U);
  EXPECT_EQ(calls, (std::vector<std::uint64_t>{1, 2, 2}));
}

TEST(FailEachSetupCallTest, LimitsItselfToTheCallsNamed) {
  const auto open = [](FakeFabric& fake) { return FabricNode::open(fake.library()).has_value(); };
  EXPECT_EQ(fail_each_setup_call({}, open, bit(SetupCall::kBind)), 2U);
}

}  // namespace
}  // namespace weft::test
