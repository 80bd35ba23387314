// A net plugin in front of Weft that says NICs can access GPU memory, as none can over tcp: emulated GPU memory is host
// memory, so its registrations are passed on as such. NCCL then sends through other GPUs of a host (PXN) and receives
// for several of them at once. Counts what it sees and prints it at the end. WEFT_LAB_PLUGIN is Weft's path.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "weft/nccl/net_v11.h"

namespace {

using weft::nccl::kPtrCuda;
using weft::nccl::kPtrHost;
using weft::nccl::ncclInvalidUsage;
using weft::nccl::ncclNet_v11_t;
using weft::nccl::ncclNetProperties_v11_t;
using weft::nccl::ncclResult_t;
using weft::nccl::ncclSuccess;

// The table of the plugin behind; nullptr when it is not there.
const ncclNet_v11_t* behind() {
  static const auto* const table = [] {
    const char* path = getenv("WEFT_LAB_PLUGIN");
    void* library = path != nullptr ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
    return library != nullptr ? static_cast<const ncclNet_v11_t*>(dlsym(library, "ncclNetPlugin_v11")) : nullptr;
  }();
  return table;
}

std::atomic<long> gpu_registrations, receives, grouped_receives, flushes;
char flush_request;  // its address stands for a flush: memory is coherent here, there is nothing to do

ncclResult_t init(void** context, std::uint64_t id, weft::nccl::ncclNetCommConfig_v11_t* config,
                  weft::nccl::ncclDebugLogger_t logger, weft::nccl::ncclProfilerCallback_t profiler) {
  return behind() != nullptr ? behind()->init(context, id, config, logger, profiler) : ncclInvalidUsage;
}
ncclResult_t devices(int* count) { return behind()->devices(count); }
ncclResult_t get_properties(int device, ncclNetProperties_v11_t* properties) {
  const ncclResult_t result = behind()->getProperties(device, properties);
  properties->ptrSupport |= kPtrCuda;
  return result;
}
ncclResult_t listen(void* context, int device, void* handle, void** comm) {
  return behind()->listen(context, device, handle, comm);
}
ncclResult_t connect(void* context, int device, void* handle, void** comm,
                     weft::nccl::ncclNetDeviceHandle_v11_t** offload) {
  return behind()->connect(context, device, handle, comm, offload);
}
ncclResult_t accept(void* listener, void** comm, weft::nccl::ncclNetDeviceHandle_v11_t** offload) {
  return behind()->accept(listener, comm, offload);
}
ncclResult_t register_memory(void* comm, void* data, std::size_t size, int type, void** handle) {
  if (type == kPtrCuda) ++gpu_registrations;
  return behind()->regMr(comm, data, size, kPtrHost, handle);
}
ncclResult_t deregister_memory(void* comm, void* handle) { return behind()->deregMr(comm, handle); }
ncclResult_t isend(void* comm, void* data, std::size_t size, int tag, void* handle, void* profiler, void** request) {
  return behind()->isend(comm, data, size, tag, handle, profiler, request);
}
ncclResult_t irecv(void* comm, int count, void** data, std::size_t* sizes, int* tags, void** handles, void** profilers,
                   void** request) {
  const ncclResult_t result = behind()->irecv(comm, count, data, sizes, tags, handles, profilers, request);
  if (result == ncclSuccess && *request != nullptr) ++(count > 1 ? grouped_receives : receives);
  return result;
}
ncclResult_t iflush(void*, int, void**, int*, void**, void** request) {
  ++flushes;
  *request = &flush_request;
  return ncclSuccess;
}
ncclResult_t test(void* request, int* done, int* sizes) {
  if (request != &flush_request) return behind()->test(request, done, sizes);
  *done = 1;
  return ncclSuccess;
}
ncclResult_t close_send(void* comm) { return behind()->closeSend(comm); }
ncclResult_t close_receive(void* comm) { return behind()->closeRecv(comm); }
ncclResult_t close_listen(void* comm) { return behind()->closeListen(comm); }
ncclResult_t finalize(void* context) {
  fprintf(stderr, "gpu-direct[%d]: %ld registrations of GPU memory, %ld receives, %ld grouped receives, %ld flushes\n",
          getpid(), gpu_registrations.load(), receives.load(), grouped_receives.load(), flushes.load());
  return behind()->finalize(context);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const ncclNet_v11_t ncclNetPlugin_v11 = {
    .name = "Weft",
    .init = init,
    .devices = devices,
    .getProperties = get_properties,
    .listen = listen,
    .connect = connect,
    .accept = accept,
    .regMr = register_memory,
    .regMrDmaBuf = nullptr,
    .deregMr = deregister_memory,
    .isend = isend,
    .irecv = irecv,
    .iflush = iflush,
    .test = test,
    .closeSend = close_send,
    .closeRecv = close_receive,
    .closeListen = close_listen,
    .getDeviceMr = nullptr,
    .irecvConsumed = nullptr,
    .makeVDevice = nullptr,
    .finalize = finalize,
    .setNetAttr = nullptr,
};
