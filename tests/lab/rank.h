#pragma once

#if __has_include(<nccl.h>)

#include <string>
#include <vector>

#include "tests/lab/api.h"
#include "tests/lab/options.h"
#include "tests/lab/world.h"

namespace weft::lab {

// One rank of a communicator: its GPU, stream and buffers. Owns the communicator.
class Rank {
 public:
  Rank(int rank, int device, ncclComm_t communicator, size_t buffer_bytes, bool registered);
  Rank(Rank&& other) noexcept;
  Rank& operator=(Rank&&) = delete;
  ~Rank();

  int rank() const { return rank_; }
  int device() const { return device_; }
  ncclComm_t communicator() const { return communicator_; }
  cudaStream_t stream() const { return stream_; }
  char* in() const { return in_; }
  char* out() const { return out_; }
  // The communicator is somebody else's to end: it was aborted.
  void forget_communicator() { communicator_ = nullptr; }

 private:
  int rank_, device_;
  ncclComm_t communicator_;
  cudaStream_t stream_ = nullptr;
  char *in_ = nullptr, *out_ = nullptr;
  void *in_handle_ = nullptr, *out_handle_ = nullptr;
  bool registered_;
};

// This process's ranks of a new communicator over all processes. id: which of the world's ids; process 0 makes it.
std::vector<Rank> make_ranks(const Options& options, World& world, int id);

// Runs the collective for all sizes over these ranks and checks what arrived. Returns how many elements are wrong.
// size: the ranks of the communicator.
size_t run_collective(const std::string& name, const Options& options, std::vector<Rank>& ranks, int size);

}  // namespace weft::lab

#endif
