// All-to-all: every rank sends an equal part of its buffer to every rank, itself included.
#pragma once

#include <memory>
#include <vector>

#include "bench/buffer.h"
#include "bench/exchange.h"
#include "bench/workload.h"

namespace weft::bench {

/// Counts in bytes, so that a size of 8 B still gives each of 8 ranks something. Sizes are rounded down to a multiple
/// of the number of ranks, but never to nothing.
class AllToAll final : public Workload {
 public:
  static Result<std::unique_ptr<Workload>> create(const Session& session, Mesh& mesh);

  std::size_t rows() const override { return parts_.size(); }
  Shape shape(std::size_t row) const override;
  void select(std::size_t row) override;
  void fill(std::uint64_t iteration) override;
  Status run() override;
  std::size_t wrong(std::uint64_t iteration) const override;

 private:
  explicit AllToAll(const Session& session);

  /// The part of `buffer` that belongs to `rank`.
  std::span<std::byte> part(const Buffer& buffer, int rank) const;

  Session session_;
  std::vector<std::size_t> parts_;  ///< bytes per pair of ranks, by row
  std::size_t part_ = 0;            ///< of the selected row
  Buffer output_;
  Buffer input_;
  std::vector<Transfer> transfers_;
};

}  // namespace weft::bench
