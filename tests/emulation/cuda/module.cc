#include "tests/emulation/cuda/module.h"

#include <cstring>

#include "tests/emulation/cuda/log.h"
#include "tests/emulation/cuda/nccl/kernel.h"

namespace weft::emulation {

Module::Module(const void* code) {
  uint64_t magic = 0;
  if (code != nullptr) memcpy(&magic, code, sizeof magic);
  if (magic == nccl::DeviceImage::kMagic) image_ = static_cast<const nccl::DeviceImage*>(code);
}

Kernel* Module::kernel(const char* name) {
  const std::lock_guard lock(mutex_);
  auto& kernel = kernels_[name];
  if (!kernel) kernel = std::make_unique<Kernel>(Kernel{name, image_});
  return kernel.get();
}

Launch prepare_launch(const Kernel& kernel, unsigned blocks, const std::vector<char>& parameters) {
  if (kernel.image == nullptr || !kernel.name.contains("ncclDevKernel_")) {
    log(0, "kernel %s is not emulated", kernel.name.c_str());
    return {Status::kNotSupported, {}};
  }
  return nccl::prepare_kernel(*kernel.image, blocks, parameters);
}

}  // namespace weft::emulation
