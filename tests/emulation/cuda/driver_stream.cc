// Streams, events, copies and fills.
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "tests/emulation/cuda/address_space.h"
#include "tests/emulation/cuda/driver.h"

using weft::emulation::address_space;
using weft::emulation::Context;
using weft::emulation::current_context;
using weft::emulation::Event;
using weft::emulation::Fence;
using weft::emulation::pointer;
using weft::emulation::Stream;
using weft::emulation::stream_of;

namespace {

Event* event_of(CUevent handle) { return reinterpret_cast<Event*>(handle); }

template <class Operation>
CUresult enqueue(CUstream handle, Operation operation) {
  Stream* stream = stream_of(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  stream->enqueue(std::move(operation));
  return CUDA_SUCCESS;
}

CUresult drain(CUstream handle) {
  Stream* stream = stream_of(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  stream->drain();
  return weft::emulation::result(stream->context().error());
}

// As CUDA: from pageable memory the source may change after the call, to pageable memory the call waits.
CUresult copy(void* to, const void* from, size_t bytes, CUstream handle) {
  if (!address_space().find(from)) {
    const auto* begin = static_cast<const char*>(from);
    auto staged = std::make_shared<std::vector<char>>(begin, begin + bytes);
    return enqueue(handle, [=] { memcpy(to, staged->data(), bytes); });
  }
  const CUresult enqueued = enqueue(handle, [=] { memmove(to, from, bytes); });
  if (enqueued != CUDA_SUCCESS || address_space().find(to)) return enqueued;
  return drain(handle);
}

}  // namespace

WEFT_EMULATED CUresult cuStreamCreateWithPriority(CUstream* handle, unsigned flags, int priority) {
  Context* context = current_context();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *handle = reinterpret_cast<CUstream>(context->add_stream((flags & CU_STREAM_NON_BLOCKING) == 0, priority));
  return CUDA_SUCCESS;
}
WEFT_EMULATED CUresult cuStreamCreate(CUstream* handle, unsigned flags) {
  return cuStreamCreateWithPriority(handle, flags, 0);
}
WEFT_EMULATED CUresult cuStreamDestroy_v2(CUstream handle) {
  Stream* stream = stream_of(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  stream->context().remove_stream(stream);
  return CUDA_SUCCESS;
}
WEFT_EMULATED CUresult cuStreamSynchronize(CUstream handle) { return drain(handle); }
WEFT_EMULATED CUresult cuStreamQuery(CUstream handle) {
  Stream* stream = stream_of(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (!stream->fence()->done()) return CUDA_ERROR_NOT_READY;
  return weft::emulation::result(stream->context().error());
}
WEFT_EMULATED CUresult cuStreamGetId(CUstream handle, unsigned long long* id) {
  const Stream* stream = stream_of(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *id = stream->id();
  return CUDA_SUCCESS;
}
WEFT_EMULATED CUresult cuStreamGetPriority(CUstream handle, int* priority) {
  const Stream* stream = stream_of(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *priority = stream->priority();
  return CUDA_SUCCESS;
}
WEFT_EMULATED CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned) {
  auto fence = event_of(event)->fence();
  if (fence == nullptr || fence->done()) return CUDA_SUCCESS;
  return enqueue(handle, [fence] { fence->wait(); });
}
WEFT_EMULATED CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void* argument) {
  return enqueue(handle, [=] { function(argument); });
}

// Capture into graphs is not emulated; the mode is only kept.
WEFT_EMULATED CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  static thread_local CUstreamCaptureMode current = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::swap(current, *mode);
  return CUDA_SUCCESS;
}

WEFT_EMULATED CUresult cuEventCreate(CUevent* handle, unsigned) {
  *handle = reinterpret_cast<CUevent>(new Event);
  return CUDA_SUCCESS;
}
WEFT_EMULATED CUresult cuEventDestroy_v2(CUevent handle) {
  delete event_of(handle);
  return CUDA_SUCCESS;
}
WEFT_EMULATED CUresult cuEventRecord(CUevent event, CUstream handle) {
  Stream* stream = stream_of(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  event_of(event)->record(stream->event_fence());
  return CUDA_SUCCESS;
}
WEFT_EMULATED CUresult cuEventQuery(CUevent event) {
  auto fence = event_of(event)->fence();
  return fence == nullptr || fence->done() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
WEFT_EMULATED CUresult cuEventSynchronize(CUevent event) {
  if (auto fence = event_of(event)->fence()) fence->wait();
  return CUDA_SUCCESS;
}
WEFT_EMULATED CUresult cuEventElapsedTime(float* milliseconds, CUevent from, CUevent to) {
  auto first = event_of(from)->fence();
  auto last = event_of(to)->fence();
  if (first == nullptr || last == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (!first->done() || !last->done()) return CUDA_ERROR_NOT_READY;
  *milliseconds = std::chrono::duration<float, std::milli>(last->time() - first->time()).count();
  return CUDA_SUCCESS;
}
WEFT_EMULATED CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent from, CUevent to) {
  return cuEventElapsedTime(milliseconds, from, to);
}

WEFT_EMULATED CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy(pointer(to), pointer(from), bytes, stream);
}
WEFT_EMULATED CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  const CUresult copied = copy(pointer(to), pointer(from), bytes, nullptr);
  return copied != CUDA_SUCCESS ? copied : drain(nullptr);
}
WEFT_EMULATED CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
  return cuMemcpy(to, reinterpret_cast<CUdeviceptr>(from), bytes);
}
WEFT_EMULATED CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
  return cuMemcpy(reinterpret_cast<CUdeviceptr>(to), from, bytes);
}
WEFT_EMULATED CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return copy(pointer(to), from, bytes, stream);
}
WEFT_EMULATED CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy(to, pointer(from), bytes, stream);
}
WEFT_EMULATED CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy(pointer(to), pointer(from), bytes, stream);
}
WEFT_EMULATED CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream) {
  return enqueue(stream, [=] { memset(pointer(to), value, bytes); });
}
WEFT_EMULATED CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t bytes) {
  return cuMemsetD8Async(to, value, bytes, nullptr);
}
WEFT_EMULATED CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr to, cuuint32_t value, unsigned) {
  return enqueue(stream, [=] { __atomic_store_n(static_cast<uint32_t*>(pointer(to)), value, __ATOMIC_RELEASE); });
}
WEFT_EMULATED CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr to, cuuint64_t value, unsigned) {
  return enqueue(stream, [=] { __atomic_store_n(static_cast<uint64_t*>(pointer(to)), value, __ATOMIC_RELEASE); });
}
