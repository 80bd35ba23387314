#include "tests/lab/rank.h"

#include <cstring>
#include <utility>

namespace weft::lab {

Rank::Rank(int rank, int device, ncclComm_t communicator, size_t buffer_bytes, bool registered)
    : rank_(rank), device_(device), communicator_(communicator), registered_(registered) {
  WEFT_OK(cudaSetDevice(device));
  WEFT_OK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  if (registered) {
    WEFT_OK(ncclMemAlloc(reinterpret_cast<void**>(&in_), buffer_bytes));
    WEFT_OK(ncclMemAlloc(reinterpret_cast<void**>(&out_), buffer_bytes));
    WEFT_OK(ncclCommRegister(communicator, in_, buffer_bytes, &in_handle_));
    WEFT_OK(ncclCommRegister(communicator, out_, buffer_bytes, &out_handle_));
  } else {
    WEFT_OK(cudaMalloc(reinterpret_cast<void**>(&in_), buffer_bytes));
    WEFT_OK(cudaMalloc(reinterpret_cast<void**>(&out_), buffer_bytes));
  }
}

Rank::Rank(Rank&& other) noexcept
    : rank_(other.rank_),
      device_(other.device_),
      communicator_(std::exchange(other.communicator_, nullptr)),
      stream_(std::exchange(other.stream_, nullptr)),
      in_(std::exchange(other.in_, nullptr)),
      out_(std::exchange(other.out_, nullptr)),
      in_handle_(other.in_handle_),
      out_handle_(other.out_handle_),
      registered_(other.registered_) {}

Rank::~Rank() {
  if (in_ == nullptr) return;
  WEFT_OK(cudaSetDevice(device_));
  if (registered_) {
    if (communicator_ != nullptr) {
      WEFT_OK(ncclCommDeregister(communicator_, in_handle_));
      WEFT_OK(ncclCommDeregister(communicator_, out_handle_));
    }
    WEFT_OK(ncclMemFree(in_));
    WEFT_OK(ncclMemFree(out_));
  } else {
    WEFT_OK(cudaFree(in_));
    WEFT_OK(cudaFree(out_));
  }
  if (communicator_ != nullptr) WEFT_OK(ncclCommDestroy(communicator_));
  WEFT_OK(cudaStreamDestroy(stream_));
}

std::vector<Rank> make_ranks(const Options& options, World& world, int id) {
  World::Id& shared = world.ids[id];
  ncclUniqueId unique;
  static_assert(sizeof unique == World::kIdBytes);
  if (options.process == 0) {
    WEFT_OK(ncclGetUniqueId(&unique));
    memcpy(shared.bytes, &unique, sizeof unique);
    shared.ready = 1;
  }
  wait_until([&] { return shared.ready != 0; });
  memcpy(&unique, shared.bytes, sizeof unique);
  std::vector<ncclComm_t> communicators(static_cast<size_t>(options.gpus));
  WEFT_OK(ncclGroupStart());
  for (int gpu = 0; gpu < options.gpus; ++gpu) {
    WEFT_OK(cudaSetDevice(gpu));
    WEFT_OK(ncclCommInitRank(&communicators[static_cast<size_t>(gpu)], options.ranks(), unique,
                             options.process * options.gpus + gpu));
  }
  WEFT_OK(ncclGroupEnd());
  std::vector<Rank> ranks;
  ranks.reserve(communicators.size());
  for (int gpu = 0; gpu < options.gpus; ++gpu) {
    ranks.emplace_back(options.process * options.gpus + gpu, gpu, communicators[static_cast<size_t>(gpu)],
                       options.buffer_bytes(), options.registered);
  }
  return ranks;
}

}  // namespace weft::lab
