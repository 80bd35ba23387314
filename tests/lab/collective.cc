#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

#include "tests/lab/pattern.h"
#include "tests/lab/rank.h"

namespace weft::lab {
namespace {

constexpr int kRoot = 1;  // not the first rank: nobody's default

enum class Kind { kAllReduce, kAllGather, kReduceScatter, kReduce, kBroadcast, kAllToAll };

Kind kind_of(const std::string& name) {
  constexpr const char* kNames[] = {"all-reduce", "all-gather", "reduce-scatter", "reduce", "broadcast", "all-to-all"};
  for (size_t i = 0; i < sizeof kNames / sizeof kNames[0]; ++i) {
    if (name == kNames[i]) return static_cast<Kind>(i);
  }
  fail("no such collective", name.c_str());
}

ncclRedOp_t nccl_operation(Operation operation) {
  constexpr ncclRedOp_t kOperations[] = {ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg};
  return kOperations[static_cast<size_t>(operation)];
}

// One collective of one size. block: elements that a rank gives to, or gets from, each other.
struct Run {
  Kind kind;
  const Options& options;
  int size;
  size_t block;
  unsigned salt;

  size_t in_elements() const { return spreads() ? block * static_cast<size_t>(size) : block; }
  size_t out_elements() const { return gathers() ? block * static_cast<size_t>(size) : block; }
  bool spreads() const { return kind == Kind::kReduceScatter || kind == Kind::kAllToAll; }
  bool gathers() const { return kind == Kind::kAllGather || kind == Kind::kAllToAll; }

  void start(const Rank& rank) const {
    const auto type = static_cast<ncclDataType_t>(options.element);
    const ncclRedOp_t operation = nccl_operation(options.operation);
    const int root = kRoot % size;
    char *in = rank.in(), *out = rank.out();
    ncclComm_t communicator = rank.communicator();
    cudaStream_t stream = rank.stream();
    switch (kind) {
      case Kind::kAllReduce: WEFT_OK(ncclAllReduce(in, out, block, type, operation, communicator, stream)); break;
      case Kind::kAllGather: WEFT_OK(ncclAllGather(in, out, block, type, communicator, stream)); break;
      case Kind::kReduceScatter:
        WEFT_OK(ncclReduceScatter(in, out, block, type, operation, communicator, stream));
        break;
      case Kind::kReduce: WEFT_OK(ncclReduce(in, out, block, type, operation, root, communicator, stream)); break;
      case Kind::kBroadcast: WEFT_OK(ncclBroadcast(in, out, block, type, root, communicator, stream)); break;
      case Kind::kAllToAll: {
        const size_t bytes = block * size_of(options.element);
        for (int peer = 0; peer < size; ++peer) {
          const size_t at = static_cast<size_t>(peer) * bytes;
          WEFT_OK(ncclSend(in + at, block, type, peer, communicator, stream));
          WEFT_OK(ncclRecv(out + at, block, type, peer, communicator, stream));
        }
      }
    }
  }

  size_t count_wrong(const Rank& rank, const char* got) const {
    const auto position = static_cast<size_t>(rank.rank());
    const auto pattern = [&](int of) { return Pattern::of_rank(options.element, options.operation, of, salt); };
    const auto sum = [&] { return Pattern::of_reduction(options.element, options.operation, size, salt); };
    const size_t bytes = block * size_of(options.element);
    size_t wrong = 0;
    switch (kind) {
      case Kind::kAllReduce: return sum().count_wrong(got, 0, block);
      case Kind::kReduceScatter: return sum().count_wrong(got, position * block, block);
      case Kind::kReduce: return rank.rank() == kRoot % size ? sum().count_wrong(got, 0, block) : 0;
      case Kind::kBroadcast: return pattern(kRoot % size).count_wrong(got, 0, block);
      case Kind::kAllGather:
        for (int of = 0; of < size; ++of)
          wrong += pattern(of).count_wrong(got + static_cast<size_t>(of) * bytes, 0, block);
        return wrong;
      case Kind::kAllToAll:
        for (int of = 0; of < size; ++of) {
          wrong += pattern(of).count_wrong(got + static_cast<size_t>(of) * bytes, position * block, block);
        }
        return wrong;
    }
    return wrong;
  }
};

// Seconds until `iterations` of the collective, started one behind the other, are over for these ranks.
double run_times(const Run& run, const std::vector<Rank>& ranks, int iterations) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < iterations; ++i) {
    WEFT_OK(ncclGroupStart());
    for (const Rank& rank : ranks) run.start(rank);
    WEFT_OK(ncclGroupEnd());
  }
  for (const Rank& rank : ranks) {
    WEFT_OK(cudaSetDevice(rank.device()));
    WEFT_OK(cudaStreamSynchronize(rank.stream()));
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

size_t run_collective(const std::string& name, const Options& options, std::vector<Rank>& ranks, int size) {
  size_t all_wrong = 0;
  static unsigned salt = 0;
  for (size_t bytes = options.min_bytes; bytes <= options.max_bytes; bytes *= options.factor) {
    const Kind kind = kind_of(name);
    // As in nccl-tests, the size is that of the larger buffer.
    const bool divided = kind == Kind::kAllGather || kind == Kind::kReduceScatter || kind == Kind::kAllToAll;
    const size_t elements = bytes / size_of(options.element) / (divided ? static_cast<size_t>(size) : 1);
    const Run run{kind, options, size, std::max<size_t>(elements, 1), ++salt};
    std::vector<char> host(std::max(run.in_elements(), run.out_elements()) * size_of(options.element));
    const size_t out_bytes = run.out_elements() * size_of(options.element);
    for (const Rank& rank : ranks) {
      WEFT_OK(cudaSetDevice(rank.device()));
      const Pattern own = Pattern::of_rank(options.element, options.operation, rank.rank(), run.salt);
      own.fill(host.data(), 0, run.in_elements());
      WEFT_OK(cudaMemcpy(rank.in(), host.data(), run.in_elements() * size_of(options.element), cudaMemcpyHostToDevice));
      WEFT_OK(cudaMemset(rank.out(), 0xff, out_bytes));
      WEFT_OK(cudaDeviceSynchronize());
    }
    if (options.timed) run_times(run, ranks, 1);  // NCCL connects in the first
    const double seconds = run_times(run, ranks, options.iterations);
    if (options.timed && ranks[0].rank() == 0) {
      printf("%s of %zu bytes: %.1f us, the mean of %d\n", name.c_str(), bytes, seconds * 1e6 / options.iterations,
             options.iterations);
    }
    size_t wrong = 0;
    for (const Rank& rank : ranks) {
      WEFT_OK(cudaSetDevice(rank.device()));
      WEFT_OK(cudaMemcpy(host.data(), rank.out(), out_bytes, cudaMemcpyDeviceToHost));
      wrong += run.count_wrong(rank, host.data());
    }
    if (wrong != 0) {
      fprintf(stderr, "weft-nccl-test: %s, %zu bytes, from rank %d on: %zu wrong elements\n", name.c_str(), bytes,
              ranks[0].rank(), wrong);
    }
    all_wrong += wrong;
  }
  if (ranks[0].rank() == 0) printf("%s: %s\n", name.c_str(), all_wrong == 0 ? "data correct" : "DATA WRONG");
  return all_wrong;
}

}  // namespace weft::lab
