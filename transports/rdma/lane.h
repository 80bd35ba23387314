// One rail as the data path sees it: the rail, and the operations that may be under way on it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "transports/connection/rail.h"
#include "transports/fabric/operation.h"

namespace weft::rdma {

/// Operations that Weft has in flight on one rail, unless the provider's queue is shorter. Bounds the completions they
/// can leave in the queue (adapter.h).
inline constexpr std::size_t kLaneDepth = 1024;

/// Not thread safe: callers hold the device's lock.
class Lane {
 public:
  explicit Lane(Rail& rail) : rail_(&rail) {
    const std::size_t queue = rail.info().get()->tx_attr->size;
    const std::size_t depth = queue == 0 ? kLaneDepth : std::min(queue, kLaneDepth);
    operations_.resize(depth, fabric::Operation(fabric::OperationKind::kSend, 0, nullptr));
    free_.resize(depth);
    for (auto& operation : operations_) free_[free_count_++] = &operation;
  }

  Rail& rail() const noexcept { return *rail_; }
  fabric::Endpoint& endpoint() const noexcept { return rail_->endpoint(); }

  /// nullptr when as many as the queue holds are under way: try again later.
  fabric::Operation* take(fabric::OperationKind kind, std::uint8_t path, void* owner) noexcept {
    if (free_count_ == 0) [[unlikely]]
      return nullptr;
    fabric::Operation* operation = free_[--free_count_];
    operation->kind = kind;
    operation->index = path;
    operation->owner = owner;
    return operation;
  }
  void give(fabric::Operation& operation) noexcept { free_[free_count_++] = &operation; }

  std::size_t depth() const noexcept { return operations_.size(); }
  std::size_t in_flight() const noexcept { return operations_.size() - free_count_; }

 private:
  Rail* rail_;
  std::vector<fabric::Operation> operations_;
  std::vector<fabric::Operation*> free_;  ///< a stack, of which the first `free_count_` are valid
  std::size_t free_count_ = 0;
};

}  // namespace weft::rdma
