// What tests see of the CUDA driver's stand-in (cuda_stub.cc), beside the driver's own functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::test {

struct CudaStubState {
  // Set by tests.
  int init_result = 0;
  int device_count = 2;
  bool fail_retain = false;
  bool fail_push = false;
  int flush_result = 0;
  // Set by the stub.
  int retained = 0;  ///< primary contexts held
  int flushes = 0;
};

/// The stub, loaded by path beside Weft's own loading of it; both see the same state. Back to the beginning for each
/// user. Throws std::runtime_error if it cannot be loaded.
class CudaStub {
 public:
  CudaStub();
  ~CudaStub();
  CudaStub(const CudaStub&) = delete;
  CudaStub& operator=(const CudaStub&) = delete;

  /// For CudaDriver::open.
  static const char* path();
  /// The same without cuFlushGPUDirectRDMAWrites: a driver from before CUDA 11.3. Has its own state.
  static const char* old_path();

  CudaStubState& state() noexcept { return *state_; }
  /// From now on, this is memory of device `ordinal`, or host memory pinned for it.
  void own(const void* pointer, std::size_t size, int ordinal, bool pinned_host = false);
  /// The ordinal of the device whose context is current on this thread; -1 if none is.
  int current() const;

 private:
  void* library_;
  CudaStubState* state_;
};

}  // namespace weft::test
