// Streams and events of the runtime.
#include "tests/emulation/cuda/runtime.h"

WEFT_EMULATED cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return WEFT_DRIVER(cuStreamCreateWithPriority(stream, flags, priority));
}
WEFT_EMULATED cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return WEFT_DRIVER(cuStreamCreate(stream, flags));
}
WEFT_EMULATED cudaError_t cudaStreamCreate(cudaStream_t* stream) { return WEFT_DRIVER(cuStreamCreate(stream, 0)); }
WEFT_EMULATED cudaError_t cudaStreamDestroy(cudaStream_t stream) { return WEFT_DRIVER(cuStreamDestroy(stream)); }
WEFT_EMULATED cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return WEFT_DRIVER(cuStreamSynchronize(stream));
}
WEFT_EMULATED cudaError_t cudaStreamQuery(cudaStream_t stream) { return WEFT_DRIVER(cuStreamQuery(stream)); }
WEFT_EMULATED cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  return WEFT_DRIVER(cuStreamGetId(stream, id));
}
WEFT_EMULATED cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  return WEFT_DRIVER(cuStreamWaitEvent(stream, event, flags));
}
WEFT_EMULATED cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* argument) {
  return WEFT_DRIVER(cuLaunchHostFunc(stream, function, argument));
}
WEFT_EMULATED cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return WEFT_DRIVER(cuEventCreate(event, flags));
}
WEFT_EMULATED cudaError_t cudaEventCreate(cudaEvent_t* event) { return WEFT_DRIVER(cuEventCreate(event, 0)); }
WEFT_EMULATED cudaError_t cudaEventDestroy(cudaEvent_t event) { return WEFT_DRIVER(cuEventDestroy(event)); }
WEFT_EMULATED cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return WEFT_DRIVER(cuEventRecord(event, stream));
}
WEFT_EMULATED cudaError_t cudaEventQuery(cudaEvent_t event) { return WEFT_DRIVER(cuEventQuery(event)); }
WEFT_EMULATED cudaError_t cudaEventSynchronize(cudaEvent_t event) { return WEFT_DRIVER(cuEventSynchronize(event)); }
WEFT_EMULATED cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  return WEFT_DRIVER(cuEventElapsedTime(milliseconds, from, to));
}
