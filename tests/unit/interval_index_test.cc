#include "transports/connection/interval_index.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/fabric_fake/random.h"

namespace weft {
namespace {

struct Span {
  std::uintptr_t begin;
  std::uintptr_t end;
};

TEST(IntervalIndexTest, FindsWhatContains) {
  IntervalIndex<Span> index;
  Span span{100, 200};
  EXPECT_EQ(index.find(100, 200), nullptr);
  index.insert(span.begin, span.end, &span);
  EXPECT_EQ(index.find(100, 200), &span);
  EXPECT_EQ(index.find(150, 151), &span);
  EXPECT_EQ(index.find(99, 101), nullptr);
  EXPECT_EQ(index.find(199, 201), nullptr);
  EXPECT_EQ(index.find(200, 201), nullptr);
}

TEST(IntervalIndexTest, FindsTheWideOneBehindNarrowOnes) {
  IntervalIndex<Span> index;
  Span wide{0, 1000};
  Span narrow{10, 20};
  Span later{30, 40};
  for (Span* each : {&narrow, &wide, &later}) index.insert(each->begin, each->end, each);
  EXPECT_EQ(index.find(35, 50), &wide);
  index.erase(wide.begin, &wide);
  EXPECT_EQ(index.find(35, 50), nullptr);
  EXPECT_EQ(index.find(35, 40), &later);
}

TEST(IntervalIndexTest, EraseTakesTheOneThatWasNamed) {
  IntervalIndex<Span> index;
  Span one{0, 10};
  Span same{0, 10};
  index.insert(one.begin, one.end, &one);
  index.insert(same.begin, same.end, &same);
  index.erase(one.begin, &one);
  EXPECT_EQ(index.find(0, 10), &same);
  index.erase(one.begin, &one);  // no longer there
  EXPECT_FALSE(index.empty());
  index.erase(same.begin, &same);
  EXPECT_TRUE(index.empty());
}

TEST(IntervalIndexTest, AgreesWithASearchThroughAll) {
  test::Random random(7);
  IntervalIndex<Span> index;
  std::vector<std::unique_ptr<Span>> spans;
  for (int round = 0; round < 5000; ++round) {
    if (spans.empty() || random.below(3) != 0) {
      const std::uintptr_t begin = random.below(200);
      spans.push_back(std::make_unique<Span>(Span{begin, begin + 1 + random.below(60)}));
      index.insert(begin, spans.back()->end, spans.back().get());
    } else {
      const auto victim = spans.begin() + static_cast<std::ptrdiff_t>(random.below(spans.size()));
      index.erase((*victim)->begin, victim->get());
      spans.erase(victim);
    }
    const std::uintptr_t begin = random.below(220);
    const std::uintptr_t end = begin + 1 + random.below(60);
    bool contained = false;
    for (const auto& span : spans) contained |= span->begin <= begin && end <= span->end;
    const Span* const found = index.find(begin, end);
    ASSERT_EQ(found != nullptr, contained) << "round " << round;
    ASSERT_TRUE(found == nullptr || (found->begin <= begin && end <= found->end)) << "round " << round;
  }
}

}  // namespace
}  // namespace weft
