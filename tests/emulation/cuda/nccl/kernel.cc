#include "tests/emulation/cuda/nccl/kernel.h"

#include <cstring>
#include <map>
#include <memory>
#include <mutex>

#include "tests/emulation/cuda/log.h"
#include "tests/emulation/cuda/nccl/collectives.h"
#include "tests/emulation/cuda/nccl/function_table.h"
#include "tests/emulation/cuda/nccl/layout.h"

namespace weft::emulation::nccl {
namespace {

// The layouts are those of 2.29.
constexpr int kFirstVersion = 22900, kEndVersion = 23000;

const FunctionTable& table_of(const DeviceImage& image) {
  static auto& mutex = *new std::mutex;
  static auto& tables = *new std::map<const DeviceFunction*, std::unique_ptr<FunctionTable>>;
  const std::lock_guard lock(mutex);
  auto& table = tables[image.functions];
  if (!table) table = std::make_unique<FunctionTable>(image);
  return *table;
}

// The parameters of a launch, copied to where they are aligned.
class Arguments {
 public:
  explicit Arguments(const std::vector<char>& parameters)
      : storage_((parameters.size() + sizeof(KernelArguments) - 1) / sizeof(KernelArguments)),
        batches_((parameters.size() - sizeof(KernelArguments)) / sizeof(WorkBatch)) {
    memcpy(static_cast<void*>(storage_.data()), parameters.data(), parameters.size());
  }

  const KernelArguments& head() const { return storage_[0]; }
  size_t batches() const { return batches_; }
  const WorkBatch& batch(size_t index) const { return reinterpret_cast<const WorkBatch*>(storage_.data() + 1)[index]; }
  const char* work(size_t offset) const {
    if (head().storage == WorkStorage::kArguments) return reinterpret_cast<const char*>(storage_.data()) + offset;
    return head().work_buffer + (offset & head().work_mask);
  }

 private:
  std::vector<KernelArguments> storage_;
  size_t batches_;
};

size_t work_size(WorkType type) {
  switch (type) {
    case WorkType::kPointToPoint: return sizeof(PointToPointWork);
    case WorkType::kCollective: return sizeof(CollectiveWork);
    default: return kRegisteredCollectiveSize;
  }
}

template <class Work>
Work copy_of(const char* from) {
  Work work;
  memcpy(&work, from, sizeof work);
  return work;
}

Task run_points(Block& block, std::vector<const char*> works) {
  std::vector<const Fiber*> sides;
  for (const char* from : works) {
    const auto work = copy_of<PointToPointWork>(from);
    log(2, "channel %d: send %zu bytes to %d, receive %zu bytes from %d", block.channel_id, work.send_bytes,
        work.send_rank, work.recv_bytes, work.recv_rank);
    sides.push_back(block.scheduler->spawn(run_point_to_point(block, work, true)));
    sides.push_back(block.scheduler->spawn(run_point_to_point(block, work, false)));
  }
  for (const Fiber* side : sides) {
    while (!side->done) co_await kYield;
  }
}

Task run_collectives(Block& block, std::vector<const char*> works, Function function, const DeviceImage& image) {
  for (const char* from : works) {
    const auto work = copy_of<CollectiveWork>(from);
    log(2, "channel %d: %s", block.channel_id, function.name);
    switch (function.algorithm) {
      case Algorithm::kRing: co_await run_ring(block, work, function); break;
      case Algorithm::kTree: co_await run_tree(block, work, function); break;
      case Algorithm::kPat: co_await run_pat(block, work, function, image); break;
    }
  }
}

Task run_block(Block block, const Arguments& arguments, const DeviceImage& image, size_t first) {
  uint64_t counter = block.channel->work_counter;
  for (size_t index = first;;) {
    std::vector<const char*> works;
    WorkBatch batch;
    for (;;) {  // a batch may be spread over several structures
      batch = arguments.batch(index);
      for (size_t bit = 0; bit < 64; ++bit) {
        if ((batch.offset_bits >> bit & 1) == 0) continue;
        works.push_back(arguments.work(batch.offset_base + bit * work_size(static_cast<WorkType>(batch.type))));
      }
      if (!batch.next_extends) break;
      index += batch.next_jump;
    }
    if (static_cast<WorkType>(batch.type) == WorkType::kPointToPoint) {
      co_await run_points(block, works);
    } else {
      co_await run_collectives(block, works, table_of(image)[batch.function], image);
    }
    counter += works.size();
    if (batch.next_jump == 0) break;
    index += batch.next_jump;
  }
  block.channel->work_counter = counter;
}

Status run_kernel(const DeviceImage& image, const Arguments& arguments, unsigned blocks) {
  Scheduler scheduler;
  CommunicatorAndChannels* all = arguments.head().communicator;
  size_t block = 0;
  for (int channel = 0; channel < kMaxChannels && block < blocks; ++channel) {
    if ((arguments.head().channel_mask >> channel & 1) == 0) continue;
    scheduler.spawn(run_block(Block{all, &all->channels[channel], channel, &scheduler}, arguments, image, block++));
  }
  scheduler.run();
  return Status::kSuccess;
}

// The first batch whose work is not emulated, as text; empty when there is none.
std::string refused_batch(const DeviceImage& image, const Arguments& arguments, unsigned blocks) {
  for (size_t first = 0; first < blocks; ++first) {
    for (size_t index = first;;) {
      if (index >= arguments.batches()) return "a batch beyond the parameters";
      const WorkBatch& batch = arguments.batch(index);
      const Function& function = table_of(image)[batch.function];
      const auto type = static_cast<WorkType>(batch.type);
      if (type == WorkType::kBroadcast || function.collective == Collective::kNone) return function.name;
      if (batch.next_jump == 0) break;
      index += batch.next_jump;
    }
  }
  return {};
}

}  // namespace

Launch prepare_kernel(const DeviceImage& image, unsigned blocks, const std::vector<char>& parameters) {
  if (image.nccl_version < kFirstVersion || image.nccl_version >= kEndVersion) {
    log(0, "NCCL's version is %d: its layouts are not known", image.nccl_version);
    return {Status::kNotSupported, {}};
  }
  if (parameters.size() < sizeof(KernelArguments) + sizeof(WorkBatch)) {
    log(0, "a kernel of NCCL's with %zu bytes of parameters", parameters.size());
    return {Status::kInvalidValue, {}};
  }
  auto arguments = std::make_shared<const Arguments>(parameters);
  if (const std::string refused = refused_batch(image, *arguments, blocks); !refused.empty()) {
    log(0, "NCCL's function %s is not emulated", refused.c_str());
    return {Status::kNotSupported, {}};
  }
  return {Status::kSuccess, [&image, arguments, blocks] { return run_kernel(image, *arguments, blocks); }};
}

}  // namespace weft::emulation::nccl
