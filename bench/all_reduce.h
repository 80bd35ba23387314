// Ring all-reduce of floats: reduce-scatter, then all-gather, both in chunks that flow without waiting for each other.
//
// The buffer is cut into one slice per rank and each slice into chunks. In step s (0 to 2n - 3) rank r sends slice
// r - s to its right and receives slice r - s - 1 from its left. In the first n - 1 steps what arrives is added to the
// own input; in the others it is final. Chunk c of step s may leave as soon as chunk c of step s - 1 has arrived.
#pragma once

#include <memory>
#include <vector>

#include "bench/buffer.h"
#include "bench/workload.h"

namespace weft::bench {

class AllReduce final : public Workload {
 public:
  static Result<std::unique_ptr<Workload>> create(const Session& session, Mesh& mesh);

  std::size_t rows() const override { return counts_.size(); }
  Shape shape(std::size_t row) const override;
  void select(std::size_t row) override;
  void fill(std::uint64_t iteration) override;
  Status run() override;
  std::size_t wrong(std::uint64_t iteration) const override;

 private:
  /// Where a chunk lies in the buffers, in elements.
  struct Piece {
    std::size_t begin = 0;
    std::size_t count = 0;
  };
  /// Memory regions, as the pipes know them.
  enum Region : int { kOutput = 0, kInput = 1, kScratch = 1 };

  AllReduce(const Session& session, Pipe& right, Pipe& left);

  Piece piece(std::size_t slice, std::size_t chunk) const;
  Piece sent_piece(std::size_t index) const;
  Piece received_piece(std::size_t index) const;
  std::size_t skip_empty_sends(std::size_t index) const;
  std::size_t skip_empty_receives(std::size_t index) const;

  bool may_receive(std::size_t index) const;
  PostStatus post_receive();
  PostStatus post_send();
  TestStatus finish_receive();
  TestStatus finish_send();

  Session session_;
  Pipe* right_;
  Pipe* left_;
  std::size_t ranks_;
  std::size_t rank_;
  std::vector<std::size_t> counts_;  ///< elements, by row
  std::size_t chunk_elements_;       ///< largest chunk
  Buffer input_;
  Buffer output_;
  Buffer scratch_;  ///< where chunks to be added arrive: one place per message in flight

  // The selected row.
  std::size_t count_ = 0;
  std::size_t chunks_ = 0;  ///< per slice
  std::size_t items_ = 0;   ///< chunks of all steps

  // The current run: each is the index of the next chunk to be treated so.
  std::size_t receive_posted_ = 0;
  std::size_t receive_done_ = 0;
  std::size_t send_posted_ = 0;
  std::size_t send_done_ = 0;
  std::size_t scratch_posted_ = 0;  ///< chunks received into scratch so far, started and finished
  std::size_t scratch_done_ = 0;
};

}  // namespace weft::bench
