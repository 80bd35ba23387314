#pragma once

#include <cstddef>
#include <cstdint>

// What libnccl carries in place of a fat binary: no code for a GPU, but what the emulator needs to know about it. The
// library registers it as a compiler registers a fat binary; the emulated driver receives it with the module.
//
// Shared with NCCL's build (device_stub.cc), which is C++17: plain structures only.
namespace weft::emulation::nccl {

// One device function of NCCL's: the number the host puts into a work batch, and NCCL's own name for it, such as
// "AllReduce Sum f32 RING LL".
struct DeviceFunction {
  int id;
  const char* name;
};

// One step of NCCL's PAT algorithm, as its own code (which runs on host and device) plans it. Offsets and counts are
// in elements; a dimension of -1 means the user's buffer.
struct PatStep {
  int recv_dim, send_dim, recv_offset, send_offset, step_offset;
  bool post_recv, post_send, skipped, last;
  int count;
  size_t in, out;
};

struct PatShape {
  bool gather;  // all-gather; otherwise reduce-scatter
  size_t element_size;
  size_t begin, end, count;
  int chunk, rank, ranks;
};

struct DeviceImage {
  static constexpr uint64_t kMagic = 0x31696c6363776566;

  uint64_t magic;
  int nccl_version;
  const DeviceFunction* functions;
  size_t function_count;
  void* (*open_pat)(const PatShape& shape);
  void (*next_pat)(void* plan, PatStep* step);
  void (*close_pat)(void* plan);
};

}  // namespace weft::emulation::nccl
