// Two ends that know each other, for tests of single operations.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tests/fabric_fake/fake_fabric.h"
#include "tests/support/fabric_node.h"

namespace weft::test {

/// Fixture with endpoint 1 (`a`) and endpoint 2 (`b`) on one fake fabric. Call start() first.
class FabricPair : public testing::Test {
 private:
  // Declared first: operations under way use them until the endpoints are closed.
  std::deque<fabric::Operation> operations_;
  std::deque<std::string> buffers_;

 public:
  void start(FakeOptions options = {}, std::size_t cq_entries = 0) {
    fake = std::make_unique<FakeFabric>(std::move(options));
    a = opened(cq_entries);
    b = opened(cq_entries);
    ASSERT_TRUE(a != nullptr && b != nullptr);
    const auto known = a->know(*b);
    const auto back = b->know(*a);
    ASSERT_TRUE(known.has_value() && back.has_value());
    to_b = *known;
    to_a = *back;
  }
  std::unique_ptr<FabricNode> opened(std::size_t cq_entries = 0) {
    auto node = FabricNode::open(fake->library(), 0, cq_entries);
    EXPECT_TRUE(node.has_value()) << node.error().what;
    return node ? std::move(*node) : nullptr;
  }

  /// An operation of the test, which lives as long as it. `index` tells it from others.
  fabric::Operation& operation(std::uint8_t index = 0) {
    return operations_.emplace_back(fabric::OperationKind::kSend, index, this);
  }
  /// Bytes to send or to receive into, which live as long as the test.
  std::string& buffer(std::string_view text) { return buffers_.emplace_back(text); }

  /// From a to b.
  fabric::PostResult send(std::string_view text, std::uint64_t tag = 0) {
    const std::string& kept = buffer(text);
    return a->endpoint->tagged_send(kept.data(), kept.size(), nullptr, to_b, tag, operation());
  }
  /// At b, for `size` bytes. `room` is where they come.
  fabric::PostResult receive(std::string& room, std::uint64_t tag = 0) {
    return b->endpoint->tagged_receive(room.data(), room.size(), nullptr, tag, operation());
  }
  std::string& room(std::size_t size = 16) { return buffer(std::string(size, '.')); }

  std::unique_ptr<FakeFabric> fake;
  std::unique_ptr<FabricNode> a;
  std::unique_ptr<FabricNode> b;
  fi_addr_t to_a = FI_ADDR_UNSPEC;
  fi_addr_t to_b = FI_ADDR_UNSPEC;
};

}  // namespace weft::test
