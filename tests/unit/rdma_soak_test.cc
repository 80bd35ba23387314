// Random traffic over a fabric that delays, reorders and lies at random, with every byte checked. Over emulated NICs
// weft-soak does the same; here an operation that is reported failed may have been done, or be done later.
// WEFT_TEST_SOAK_SECONDS makes it longer, WEFT_TEST_SOAK_SEED repeats one run.
#include <gtest/gtest.h>
#include <rdma/fi_errno.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/log_capture.h"
#include "tests/support/rdma_net.h"
#include "tests/support/stream.h"

namespace weft::rdma {
namespace {

using soak::Stream;
using soak::StreamPlan;
using test::Delivery;
using test::PostFault;
using test::Random;
using test::Selector;

constexpr std::uint64_t kFirstSeed = 1;
constexpr int kUnresponsive = 13;
constexpr int kNotReady = 10;
/// Two stripes where two rails are up; the fake can keep the whole for later.
constexpr std::size_t kLongest = 300'000;

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

PostFault random_fault(Random& random, int status) {
  switch (random.below(3)) {
    case 0: return PostFault::fail(FI_EIO, status);
    case 1: return PostFault::fail_falsely(FI_EIO, status);
    default: return PostFault::fail_too_early(FI_EIO, status);
  }
}

/// Empty, or what went wrong.
std::string soak(std::uint64_t seed) {
  Random random(seed);
  const std::size_t rails = 1 + random.below(4);
  test::FakeOptions options = test::rdma_options(rails);
  options.flights = 128;
  options.eager_bytes = kLongest;
  options.check_send_buffers = false;  // most of the time would go there
  if (random.chance(0.5)) {
    for (auto& nic : options.nics) nic.tx_size = std::size_t{8} << random.below(6);
  }
  test::FakeFabric fake(options);
  test::RdmaNet net(fake);
  auto& faults = fake.faults();
  faults.seed(seed);
  if (random.chance(0.8)) {
    faults.delivery = Delivery::kOnRead;
    faults.delay_reads = 1 + static_cast<unsigned>(random.below(30));
    faults.reorder_window = std::size_t{1} << random.below(8);
  }
  std::vector<std::unique_ptr<Stream>> streams;
  const std::uint64_t count = 1 + random.below(4);
  const bool trouble = random.chance(0.7);
  for (std::uint64_t i = 0; i < count; ++i) {
    const StreamPlan plan = {.groups = 40 + random.below(i == 0 ? 600 : 100),
                             .max_group = 1 + random.below(kMaxGroup),
                             .tags = 1 + random.below(20),
                             .max_bytes = random.chance(0.5) ? kLongest : 3000,
                             // On one rail it is given back early, and nobody is left to answer what its sender asks.
                             .optional = random.chance(0.5) && (rails > 1 || !trouble) ? 0.4 : 0.0,
                             .left_open = random.below(10)};
    auto stream = Stream::make(net, static_cast<int>(i % 2), 1 - static_cast<int>(i % 2), plan, random.next());
    if (!stream) return stream.error().what;
    streams.push_back(std::move(*stream));
  }
  if (random.chance(0.5)) faults.on_post(test::kOneSided, Selector::randomly(0.2), PostFault::again());
  for (int i = 0; trouble && i < 3; ++i) {
    // Errors that take a rail out spare the lead, so that one is left.
    const bool lasts = rails > 1 && random.chance(0.5);
    faults.on_post(test::kOneSided, Selector::randomly(0.002), random_fault(random, lasts ? kUnresponsive : kNotReady),
                   [lasts, rails](const test::PostEvent& event) { return !lasts || (event.from - 1) % rails != 0; });
  }
  std::vector<Stream*> going;
  for (const auto& each : streams) going.push_back(each.get());
  const bool all = test::poll_until(
      [&] {
        for (int i = 0; i < 100 && !going.empty(); ++i) {
          const auto which = static_cast<std::ptrdiff_t>(random.below(going.size()));
          if (!going[static_cast<std::size_t>(which)]->step()) going.erase(going.begin() + which);
        }
        return going.empty();
      },
      std::chrono::seconds(300));
  std::string what = all ? "" : "the traffic has come to a stop";
  for (const auto& each : streams) {
    if (!each->error().empty()) return each->error();
    if (!all) what += "; " + each->text();
  }
  return what;
}

TEST(RdmaSoakTest, RandomTrafficOverFabricsThatLieArrivesWhole) {
  const auto seconds = from_environment("WEFT_TEST_SOAK_SECONDS", 4);
  const auto only = from_environment("WEFT_TEST_SOAK_SEED", 0);
  const auto deadline = Clock::now() + std::chrono::seconds(seconds);
  std::string error;
  std::uint64_t seed = only != 0 ? only : kFirstSeed;
  for (; error.empty() && Clock::now() < deadline; ++seed) {
    error = soak(seed);
    if (only != 0) break;
  }
  EXPECT_EQ(error, "") << "repeat with WEFT_TEST_SOAK_SEED=" << (only != 0 ? only : seed - 1);
  for (const char* expected : {"does not answer", "works again"}) {
    if (test::LogCapture::current().has(log::Level::kWarn, expected)) {
      test::LogCapture::current().expect_warning(expected);
    }
  }
}

}  // namespace
}  // namespace weft::rdma
