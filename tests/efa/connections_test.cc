// As many connections as the processes of a large job have.
#include <chrono>
#include <cstdio>

#include "tests/plugin/harness.h"

namespace weft::test {
namespace {

constexpr std::size_t kConnections = 1000;

class ConnectionsTest : public PluginTest {};

TEST_F(ConnectionsTest, AThousandInOneProcessCarryData) {
  const auto net = start(kNewestVersion);
  {
    std::vector<std::unique_ptr<Connection>> all;
    const auto begin = std::chrono::steady_clock::now();
    while (all.size() < kConnections && !HasFailure()) all.push_back(std::make_unique<Connection>(*net, *net));
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    std::printf("%zu connections in %.2f s\n", all.size(), taken.count());
    // All of them, the last first: none has got another's permissions.
    for (std::size_t i = all.size(); i-- > 0 && !HasFailure();) {
      const auto bytes = pattern(100 + i, static_cast<unsigned>(i));
      all[i]->transfer(bytes, bytes.size(), 0);
    }
  }
  EXPECT_EQ(net->finalize(), nccl::ncclSuccess);
}

}  // namespace
}  // namespace weft::test
