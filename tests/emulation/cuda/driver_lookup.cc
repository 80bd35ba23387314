// cuGetProcAddress: entry points by name and version.
#include <dlfcn.h>

#include <cstring>
#include <string>

#include "tests/emulation/cuda/driver.h"
#include "tests/emulation/cuda/log.h"

namespace {

// Entry points with several interfaces: the symbol for a CUDA version, newest first. Others have one, which may be
// called _v2.
struct Versioned {
  const char* name;
  int since;
  const char* symbol;
};
constexpr Versioned kVersioned[] = {
    {"cuCtxCreate", 12050, "cuCtxCreate_v4"},    {"cuCtxCreate", 11040, "cuCtxCreate_v3"},
    {"cuCtxCreate", 0, "cuCtxCreate_v2"},        {"cuCtxGetDevice", 13000, "cuCtxGetDevice_v2"},
    {"cuCtxGetDevice", 0, "cuCtxGetDevice"},     {"cuGetProcAddress", 12000, "cuGetProcAddress_v2"},
    {"cuGetProcAddress", 0, "cuGetProcAddress"},
};

void* symbol(const std::string& name) {
  static void* const self = [] {
    Dl_info info{};
    dladdr(reinterpret_cast<void*>(&cuInit), &info);
    return dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  }();
  return dlsym(self, name.c_str());
}

void* find(const char* name, int version) {
  for (const Versioned& entry : kVersioned) {
    if (strcmp(entry.name, name) == 0 && version >= entry.since) return symbol(entry.symbol);
  }
  void* newer = symbol(std::string(name) + "_v2");
  return newer != nullptr ? newer : symbol(name);
}

}  // namespace

WEFT_EMULATED CUresult cuGetProcAddress_v2(const char* name, void** function, int version, cuuint64_t,
                                           CUdriverProcAddressQueryResult* status) {
  *function = find(name, version);
  if (*function == nullptr) weft::emulation::log(1, "the driver has no %s", name);
  if (status != nullptr) {
    *status = *function != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  return *function != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
WEFT_EMULATED CUresult cuGetProcAddress(const char* name, void** function, int version, cuuint64_t flags) {
  return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}
