// Everything at once, at random, with every byte checked. WEFT_TEST_SOAK_SECONDS makes it longer, WEFT_TEST_SOAK_SEED
// repeats one run.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/comm_pair.h"
#include "tests/support/traffic.h"

namespace weft::sendrecv {
namespace {

using test::CommPair;
using test::Delivery;
using test::DevicePair;
using test::PostFault;
using test::Random;
using test::Selector;
using test::Traffic;
using test::TrafficPlan;

constexpr std::uint64_t kFirstSeed = 1000;

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// One run of a few thousand messages over a fabric that is different for each seed.
std::string soak(std::uint64_t seed) {
  Random random(seed);
  test::FakeOptions options;
  options.flights = 4096;
  // Either messages that wait for their receives, or a provider with room for few of them: both together would stop
  // any transport.
  const bool rendezvous = random.chance(0.5);
  if (rendezvous) {
    options.eager_bytes = random.chance(0.5) ? 4096 : 100;
    options.nics.front().rx_size = 4096;
  } else {
    options.nics.front().tx_size = std::size_t{4} << random.below(8);
    options.nics.front().rx_size = ControlChannel::kReceives + (std::size_t{4} << random.below(8));
  }
  DevicePair pair(options, test::patient_options(), random.chance(0.7));
  auto& faults = pair.fake.faults();
  faults.seed(seed);
  if (random.chance(0.8)) {
    faults.delivery = Delivery::kOnRead;
    faults.delay_reads = 1 + static_cast<unsigned>(random.below(30));
    faults.reorder_window = std::size_t{1} << random.below(8);
  }
  if (random.chance(0.6)) faults.on_post(test::kAnyVerb, Selector::randomly(0.3), PostFault::again());
  std::vector<CommPair> comms;
  const std::uint64_t count = 1 + random.below(5);
  for (std::uint64_t i = 0; i < count; ++i) {
    comms.push_back(random.chance(0.5) ? pair.connect() : test::connect(*pair.far, *pair.near));
  }
  std::vector<Traffic> traffic;
  for (const CommPair& each : comms) {
    const TrafficPlan plan = {.groups = 60 + random.below(200),
                              .max_group = 1 + random.below(kMaxGroup),
                              .tags = 1 + random.below(20),
                              .max_bytes = rendezvous && random.chance(0.4) ? 60'000UL : 3000UL,
                              .optional = random.chance(0.5) ? 0.4 : 0.0,
                              .ahead = random.below(8)};
    traffic.emplace_back(each, plan, random.next());
  }
  std::string error = test::run(traffic);
  if (error.empty() && !test::try_connect(*pair.near, *pair.far)) error = "no new connection can be made";
  return error;
}

TEST(SendRecvSoakTest, RandomTrafficOverRandomFabricsArrivesWhole) {
  const auto seconds = from_environment("WEFT_TEST_SOAK_SECONDS", 4);
  const auto only = from_environment("WEFT_TEST_SOAK_SEED", 0);
  const auto deadline = Clock::now() + std::chrono::seconds(seconds);
  for (std::uint64_t seed = only != 0 ? only : kFirstSeed; Clock::now() < deadline; ++seed) {
    ASSERT_EQ(soak(seed), "") << "repeat with WEFT_TEST_SOAK_SEED=" << seed;
    if (only != 0) break;
  }
}

TEST(SendRecvThreadsTest, CommunicatorsOfOneDeviceCanBeDrivenByDifferentThreads) {
  // NCCL's service thread connects and closes while the progress threads of two communicators send and receive.
  DevicePair pair;
  std::vector<CommPair> comms;
  for (int i = 0; i < 2; ++i) comms.push_back(pair.connect());
  std::vector<std::string> errors(comms.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < comms.size(); ++i) {
    threads.emplace_back([&, i] {
      std::vector<Traffic> one;
      one.emplace_back(comms[i], TrafficPlan{.groups = 150, .optional = 0}, i + 1);
      errors[i] = test::run(one);
    });
  }
  threads.emplace_back([&] {
    for (int i = 0; i < 100; ++i) {
      const auto made = test::try_connect(*pair.near, *pair.far);
      EXPECT_TRUE(made.has_value());
      std::array<std::byte, 64> bytes{};
      MemoryHandle* const memory = pair.near->register_memory(bytes.data(), bytes.size(), kPointerHost).value();
      EXPECT_TRUE(pair.near->deregister_memory(memory).has_value());
    }
  });
  for (std::thread& each : threads) each.join();
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

}  // namespace
}  // namespace weft::sendrecv
