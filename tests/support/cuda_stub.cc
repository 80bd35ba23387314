// A CUDA driver for unit tests, loaded by path in libcuda's place: two devices, whose memory is host memory that the
// test names. Functions of the real names, with the types of the driver's ABI (cuda.h).
#include "tests/support/cuda_stub.h"

#include <cstring>
#include <map>
#include <mutex>
#include <vector>

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidValue = 1;
constexpr int kInvalidContext = 201;
constexpr int kDevices = 2;
// A CUdevice is a handle: not the ordinal, so that code that mixes them up is found.
constexpr int kFirstDevice = 40;
constexpr int kFlushOptionsAttribute = 117;
constexpr int kMemoryTypeAttribute = 2;
constexpr int kOrdinalAttribute = 9;

std::mutex mutex;
weft::test::CudaStubState state;
int contexts[kDevices];  // only their addresses matter
thread_local std::vector<void*> stack;

struct Memory {
  std::size_t size;
  int ordinal;
  unsigned type;
};
std::map<std::uint64_t, Memory> memory;

bool known(int device) { return device >= kFirstDevice && device < kFirstDevice + kDevices; }

}  // namespace

#define WEFT_TEST_EXPORT extern "C" __attribute__((visibility("default")))

// NOLINTBEGIN(readability-identifier-naming): the driver's names

WEFT_TEST_EXPORT int cuInit(unsigned) { return state.init_result; }

WEFT_TEST_EXPORT int cuDeviceGetCount(int* count) {
  *count = state.device_count;
  return kSuccess;
}

WEFT_TEST_EXPORT int cuDeviceGet(int* device, int ordinal) {
  if (ordinal < 0 || ordinal >= kDevices) return kInvalidValue;
  *device = kFirstDevice + ordinal;
  return kSuccess;
}

WEFT_TEST_EXPORT int cuDeviceGetAttribute(int* value, int attribute, int device) {
  if (!known(device) || attribute != kFlushOptionsAttribute) return kInvalidValue;
  *value = device == kFirstDevice ? 1 : 0;  // the first device can flush, the second cannot
  return kSuccess;
}

WEFT_TEST_EXPORT int cuPointerGetAttribute(void* out, int attribute, std::uint64_t pointer) {
  const std::lock_guard guard(mutex);
  auto found = memory.upper_bound(pointer);
  if (found == memory.begin()) return kInvalidValue;
  --found;
  if (pointer - found->first >= found->second.size) return kInvalidValue;
  if (attribute == kMemoryTypeAttribute) {
    std::memcpy(out, &found->second.type, sizeof found->second.type);
  } else if (attribute == kOrdinalAttribute) {
    std::memcpy(out, &found->second.ordinal, sizeof found->second.ordinal);
  } else {
    return kInvalidValue;
  }
  return kSuccess;
}

WEFT_TEST_EXPORT int cuDevicePrimaryCtxRetain(void** context, int device) {
  const std::lock_guard guard(mutex);
  if (!known(device) || state.fail_retain) return kInvalidValue;
  ++state.retained;
  *context = &contexts[device - kFirstDevice];
  return kSuccess;
}

WEFT_TEST_EXPORT int cuDevicePrimaryCtxRelease_v2(int device) {
  const std::lock_guard guard(mutex);
  if (!known(device)) return kInvalidValue;
  --state.retained;
  return kSuccess;
}

WEFT_TEST_EXPORT int cuCtxPushCurrent_v2(void* context) {
  if (state.fail_push) return kInvalidContext;
  stack.push_back(context);
  return kSuccess;
}

WEFT_TEST_EXPORT int cuCtxPopCurrent_v2(void** context) {
  if (stack.empty()) return kInvalidContext;
  *context = stack.back();
  stack.pop_back();
  return kSuccess;
}

#if !defined(WEFT_TEST_OLD_CUDA)
WEFT_TEST_EXPORT int cuFlushGPUDirectRDMAWrites(int target, int scope) {
  const std::lock_guard guard(mutex);
  if (target != 0 || scope != 100) return kInvalidValue;
  if (stack.empty()) return kInvalidContext;
  if (state.flush_result == kSuccess) ++state.flushes;
  return state.flush_result;
}
#endif

// NOLINTEND(readability-identifier-naming)

WEFT_TEST_EXPORT weft::test::CudaStubState* weft_cuda_stub_state() { return &state; }

WEFT_TEST_EXPORT void weft_cuda_stub_own(const void* pointer, std::size_t size, int ordinal, bool pinned_host) {
  const std::lock_guard guard(mutex);
  memory[reinterpret_cast<std::uint64_t>(pointer)] = {size, ordinal, pinned_host ? 1U : 2U};
}

WEFT_TEST_EXPORT void weft_cuda_stub_reset() {
  const std::lock_guard guard(mutex);
  state = {};
  memory.clear();
}

WEFT_TEST_EXPORT int weft_cuda_stub_current() {
  if (stack.empty()) return -1;
  for (int i = 0; i < kDevices; ++i) {
    if (stack.back() == &contexts[i]) return i;
  }
  return -2;
}
