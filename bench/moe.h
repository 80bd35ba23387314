// Mixture of experts: dispatch sends a copy of each token to each of its k experts, wherever they live; combine sends
// each expert's result back to the token's rank. Who gets how much is skewed, as in real models.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/buffer.h"
#include "bench/exchange.h"
#include "bench/workload.h"

namespace weft::bench {

/// Two rows: dispatch and combine. Expert e lives on rank e / (experts / ranks). The copies for one rank travel in one
/// piece, ordered by token and then by expert. What a rank sends to its own experts is copied.
class Moe final : public Workload {
 public:
  static Result<std::unique_ptr<Workload>> create(const Session& session, Mesh& mesh);

  std::size_t rows() const override { return 2; }
  Shape shape(std::size_t row) const override;
  std::string note() const override;
  void select(std::size_t row) override { combining_ = row == 1; }
  void fill(std::uint64_t iteration) override;
  Status run() override;
  std::size_t wrong(std::uint64_t iteration) const override;

 private:
  /// One copy of a token on its way to an expert.
  struct Copy {
    int origin;
    int token;
    int expert;
  };
  /// All copies between this rank and another, and the place of the first in the buffers.
  struct Lot {
    std::vector<Copy> copies;
    std::size_t begin = 0;
  };
  /// Two buffers of one layout: dispatch fills one, combine the other.
  struct Side {
    std::vector<Lot> lots;  ///< by the other rank
    std::size_t bytes = 0;
    Buffer dispatch;
    Buffer combine;
  };

  explicit Moe(const Session& session);

  int home_of(int expert) const { return expert / (session_.options.experts / session_.size()); }
  void route_all_tokens();
  Status make_transfers(Mesh& mesh);
  std::uint64_t seed_of(const Copy& copy, std::uint64_t iteration) const;
  std::span<std::byte> bytes_of(const Buffer& buffer, const Lot& lot) const;
  const Side& source() const { return combining_ ? guests_ : own_; }
  const Side& target() const { return combining_ ? own_ : guests_; }
  const Buffer& buffer_of(const Side& side) const { return combining_ ? side.combine : side.dispatch; }

  Session session_;
  bool combining_ = false;
  Side own_;     ///< copies of this rank's tokens, by the rank of the expert
  Side guests_;  ///< copies of other ranks' tokens for this rank's experts, by the rank of the token
  std::vector<std::size_t> dispatched_;  ///< copies each rank sends to others
  std::vector<std::size_t> received_;    ///< copies each rank gets from others
  std::vector<std::size_t> load_;        ///< copies each rank's experts get in all
  std::vector<Transfer> dispatch_;
  std::vector<Transfer> combine_;
};

}  // namespace weft::bench
