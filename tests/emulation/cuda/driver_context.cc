// Contexts, modules, launches.
#include <algorithm>
#include <vector>

#include "tests/emulation/cuda/driver.h"
#include "tests/emulation/cuda/log.h"
#include "tests/emulation/cuda/module.h"

using weft::emulation::Context;
using weft::emulation::context_of;
using weft::emulation::current_context;
using weft::emulation::device_exists;
using weft::emulation::Kernel;
using weft::emulation::Module;
using weft::emulation::Status;
using weft::emulation::Stream;

namespace {

CUresult create_context(CUcontext* handle, CUdevice device) {
  if (!device_exists(device)) return CUDA_ERROR_INVALID_DEVICE;
  auto* context = new Context(device);
  weft::emulation::push_context(context);
  *handle = reinterpret_cast<CUcontext>(context);
  return CUDA_SUCCESS;
}

// The parameter block as CUDA takes it at the launch: a copy.
std::vector<char> parameter_block(void** extra) {
  const char* block = nullptr;
  size_t size = 0;
  for (void** entry = extra; entry != nullptr && *entry != CU_LAUNCH_PARAM_END; entry += 2) {
    if (*entry == CU_LAUNCH_PARAM_BUFFER_POINTER) block = static_cast<const char*>(entry[1]);
    if (*entry == CU_LAUNCH_PARAM_BUFFER_SIZE) size = *static_cast<const size_t*>(entry[1]);
  }
  return block != nullptr ? std::vector<char>(block, block + size) : std::vector<char>();
}

CUresult launch(CUfunction function, unsigned blocks, CUstream handle, void** extra) {
  Stream* stream = weft::emulation::stream_of(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  Context& context = stream->context();
  if (context.error() != Status::kSuccess) return weft::emulation::result(context.error());
  const auto& kernel = *reinterpret_cast<Kernel*>(function);
  weft::emulation::Launch launch = weft::emulation::prepare_launch(kernel, blocks, parameter_block(extra));
  if (launch.status != Status::kSuccess) return weft::emulation::result(launch.status);
  weft::emulation::log(1, "launch of %s, %u blocks, stream %lu", kernel.name.c_str(), blocks, stream->id());
  stream->enqueue([run = std::move(launch.run), &context] {
    if (const Status status = run(); status != Status::kSuccess) context.fail(status);
  });
  return CUDA_SUCCESS;
}

}  // namespace

WEFT_EMULATED CUresult cuDevicePrimaryCtxRetain(CUcontext* handle, CUdevice device) {
  if (!device_exists(device)) return CUDA_ERROR_INVALID_DEVICE;
  *handle = reinterpret_cast<CUcontext>(&weft::emulation::primary_context(device));
  return CUDA_SUCCESS;
}
// The primary context stays for the process's life.
WEFT_EMULATED CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return device_exists(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

WEFT_EMULATED CUresult cuCtxCreate_v2(CUcontext* handle, unsigned, CUdevice device) {
  return create_context(handle, device);
}
WEFT_EMULATED CUresult cuCtxCreate_v3(CUcontext* handle, CUexecAffinityParam*, int, unsigned, CUdevice device) {
  return create_context(handle, device);
}
WEFT_EMULATED CUresult cuCtxCreate_v4(CUcontext* handle, CUctxCreateParams*, unsigned, CUdevice device) {
  return create_context(handle, device);
}

WEFT_EMULATED CUresult cuCtxDestroy_v2(CUcontext handle) {
  Context* context = context_of(handle);
  for (CUdevice device = 0; device_exists(device); ++device) {
    if (context == &weft::emulation::primary_context(device)) return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (current_context() == context) weft::emulation::pop_context();
  delete context;
  return CUDA_SUCCESS;
}

WEFT_EMULATED CUresult cuCtxGetCurrent(CUcontext* handle) {
  *handle = reinterpret_cast<CUcontext>(current_context());
  return CUDA_SUCCESS;
}
WEFT_EMULATED CUresult cuCtxSetCurrent(CUcontext handle) {
  weft::emulation::set_current_context(context_of(handle));
  return CUDA_SUCCESS;
}
WEFT_EMULATED CUresult cuCtxPushCurrent_v2(CUcontext handle) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  weft::emulation::push_context(context_of(handle));
  return CUDA_SUCCESS;
}
WEFT_EMULATED CUresult cuCtxPopCurrent_v2(CUcontext* handle) {
  if (current_context() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (handle != nullptr) *handle = reinterpret_cast<CUcontext>(current_context());
  weft::emulation::pop_context();
  return CUDA_SUCCESS;
}

WEFT_EMULATED CUresult cuCtxGetDevice(CUdevice* device) {
  const Context* context = current_context();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *device = context->device();
  return CUDA_SUCCESS;
}
WEFT_EMULATED CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext handle) {
  if (handle == nullptr) return cuCtxGetDevice(device);
  *device = context_of(handle)->device();
  return CUDA_SUCCESS;
}

WEFT_EMULATED CUresult cuCtxSynchronize() {
  Context* context = current_context();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  context->drain();
  return weft::emulation::result(context->error());
}

WEFT_EMULATED CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option*, void**, unsigned,
                                         CUlibraryOption*, void**, unsigned) {
  *library = reinterpret_cast<CUlibrary>(new Module(code));
  return CUDA_SUCCESS;
}
WEFT_EMULATED CUresult cuLibraryUnload(CUlibrary library) {
  delete reinterpret_cast<Module*>(library);
  return CUDA_SUCCESS;
}
WEFT_EMULATED CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  *kernel = reinterpret_cast<CUkernel>(reinterpret_cast<Module*>(library)->kernel(name));
  return CUDA_SUCCESS;
}
WEFT_EMULATED CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  *function = reinterpret_cast<CUfunction>(kernel);
  return CUDA_SUCCESS;
}

WEFT_EMULATED CUresult cuLaunchKernel(CUfunction function, unsigned grid, unsigned, unsigned, unsigned, unsigned,
                                      unsigned, unsigned, CUstream stream, void**, void** extra) {
  return launch(function, grid, stream, extra);
}
WEFT_EMULATED CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void**, void** extra) {
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    // An event that is to be recorded when all blocks have begun: blocks begin with the launch here.
    if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT) {
      cuEventRecord(config->attrs[i].value.launchCompletionEvent.event, config->hStream);
    }
  }
  return launch(function, config->gridDimX, config->hStream, extra);
}
