// The fuzz target's work with every compiler: seeds, random scripts, and what it has found before.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/fabric_fake/random.h"
#include "tests/fuzz/script.h"
#include "tests/fuzz/wire_target.h"

namespace weft::test {
namespace {

TEST(WireReplayTest, EverySeedLeavesTheDeviceInOrder) {
  std::size_t number = 0;
  for (const auto& seed : wire_seeds()) {
    ASSERT_EQ(run_wire_input(seed), "") << "seed " << number;
    ++number;
  }
}

TEST(WireReplayTest, RandomScriptsLeaveTheDeviceInOrder) {
  constexpr std::uint64_t kFirst = 5000;
  constexpr std::uint64_t kScripts = 300;
  for (std::uint64_t seed = kFirst; seed < kFirst + kScripts; ++seed) {
    Random random(seed);
    std::vector<std::uint8_t> script(random.below(3000));
    // Small numbers more often than others: they are the ones that mean something.
    for (auto& each : script)
      each = static_cast<std::uint8_t>(random.chance(0.5) ? random.below(kSteps) : random.next());
    ASSERT_EQ(run_wire_input(script), "") << "seed " << seed;
  }
}

TEST(WireReplayTest, EmptyScriptIsFine) { EXPECT_EQ(run_wire_input({}), ""); }

}  // namespace
}  // namespace weft::test
