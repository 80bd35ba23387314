#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

// Layouts that NCCL's host code and its device kernels share, of NCCL 2.29: facts, under names of our own.
// layout_check.cc compares them with NCCL's headers whenever libnccl is built. (2.28 has no Ring::rank_to_index, 2.30
// has padding in CollectiveWork.)
namespace weft::emulation::nccl {

constexpr int kSteps = 8;  // slots in a connection's FIFO
constexpr int kMaxChannels = 64;
constexpr int kProtocolLl = 0, kProtocolLl128 = 1, kProtocolSimple = 2, kProtocols = 3;
constexpr size_t kMaxNetSize = size_t{1} << 30;  // a chunk, when the network reads the user's buffer itself
constexpr int kFlagDirectNic = 0x04;
constexpr int kModeNormal = 0, kModeOffset = 1;
constexpr int kTypes = 12;  // ncclDataType_t
constexpr int kMaxTreeArity = 3;

// What the GPU and the proxy thread tell each other, one per step.
struct FifoSlot {
  int mode, offset;
  ssize_t size;
  void* pointer;
};

struct Connection {
  char* buffers[kProtocols];
  void* memory_handles[kProtocols];
  uint64_t *tail, *head;
  int flags, shared, step_size;
  void** pointer_exchange;
  uint64_t* reduction_exchange;
  FifoSlot* fifo;
  uint64_t step, ll_last_cleaning;
  struct {
    int type, version;
    void* handle;
    size_t size;
    int needs_proxy_progress;
  } net_device;
};

struct ChannelPeer {
  Connection send[2], recv[2];  // 0: collectives, 1: point to point
};

struct Ring {
  int prev, next;
  int* user_ranks;
  int* rank_to_index;
  int index;
};

struct Tree {
  int depth, up, down[kMaxTreeArity];
};

struct Direct {
  int depth, out, heads, head_rank, shift, head_list[8], up[7], down[7];
};

struct Nvls {
  int out, heads, head_rank, up[32], down, tree_up, tree_down[3];
};

struct alignas(16) Channel {
  ChannelPeer** peers;
  Ring ring;
  Tree tree, collnet_chain;
  Direct collnet_direct;
  Nvls nvls;
  uint32_t* work_fifo_done;
  uint64_t work_counter;
};

struct ProfilerCounters;

struct Communicator {
  int rank, ranks, node, nodes, buffer_sizes[kProtocols], p2p_chunk_size, all_nvlink;
  int* collnet_dense_to_user_rank;
  volatile uint32_t* abort_flag;
  Channel* channels;
  int* rank_to_local_rank;
  ProfilerCounters *work_started, *work_completed;
};

struct alignas(16) CommunicatorAndChannels {
  Communicator communicator;
  Channel channels[kMaxChannels];
};

enum class WorkStorage : uint8_t { kArguments, kFifo, kPersistent };

// The kernel's parameters; WorkBatches follow.
struct alignas(16) KernelArguments {
  CommunicatorAndChannels* communicator;
  uint64_t channel_mask;
  WorkStorage storage;
  uint32_t work_mask;
  char* work_buffer;
};

enum class WorkType : uint8_t { kPointToPoint, kCollective, kRegisteredCollective, kBroadcast };

struct alignas(16) WorkBatch {
  uint32_t next_jump : 14, next_extends : 1, type : 2, function : 15;
  uint32_t offset_base;
  uint64_t offset_bits;
};

struct alignas(16) PointToPointWork {
  char *send_address, *recv_address;
  size_t send_bytes, recv_bytes;
  int send_rank, recv_rank;
  uint8_t channels, channel_base, send_channels, recv_channels, send_chunk_code, recv_chunk_code;
  uint8_t send_ll : 1, recv_ll : 1, send_registered : 1, recv_registered : 1, send_ipc : 1, recv_ipc : 1, profiler : 1;
};

struct alignas(16) CollectiveWork {
  uint32_t channel_low : 8, channel_high : 8, warps : 8;
  uint32_t reduction_is_pointer : 1, registered : 1, net_registered : 1, one_node : 1, direct : 2,
      one_rank_per_node : 1, profiler : 1;
  uint32_t root;
  char *recv_buffer, *send_buffer;
  uintptr_t send_offset, recv_offset, *send_remote, *recv_remote;
  size_t count_low, count_middle, count_high;
  uint64_t grains_low : 21, grains_middle : 21, grains_high : 21;
  uint64_t reduction_argument;
};

constexpr size_t kRegisteredCollectiveSize = sizeof(CollectiveWork) + 3 * 8 * sizeof(void*);
constexpr size_t kGrainSimple = 512, kGrainLl = 16;

static_assert(sizeof(WorkBatch) == 16 && sizeof(PointToPointWork) == 48 && sizeof(CollectiveWork) == 96);
static_assert(sizeof(Connection) == 152 && offsetof(Connection, fifo) == 96 && offsetof(Connection, step) == 104);
static_assert(sizeof(KernelArguments) == 32 && sizeof(FifoSlot) == 24);

}  // namespace weft::emulation::nccl
