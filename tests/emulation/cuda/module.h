#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/emulation/cuda/nccl/device_image.h"
#include "tests/emulation/cuda/status.h"

namespace weft::emulation {

// A kernel: a name, and the image of the module it came with (nullptr: not one of ours).
struct Kernel {
  std::string name;
  const nccl::DeviceImage* image;
};

// What a launch leads to: the work for the stream's thread, or the reason why it is refused.
struct Launch {
  Status status = Status::kSuccess;
  std::function<Status()> run;
};

// A loaded module. Its kernels live as long as it does.
class Module {
 public:
  // code: what the compiler's hook registered as a fat binary. Anything but a DeviceImage is a module whose kernels
  // are all refused.
  explicit Module(const void* code);
  Kernel* kernel(const char* name);

 private:
  const nccl::DeviceImage* image_ = nullptr;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Kernel>> kernels_;
};

// Looks at a launch before it is enqueued: a kernel that is not emulated is an error of the launch, never silence.
// parameters: the block of the kernel's parameters.
Launch prepare_launch(const Kernel& kernel, unsigned blocks, const std::vector<char>& parameters);

}  // namespace weft::emulation
