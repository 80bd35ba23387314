#include <dlfcn.h>

#include <stdexcept>

#include "tests/support/cuda_stub.h"

namespace weft::test {
namespace {

template <class F>
F* function(void* library, const char* name) {
  auto* const found = reinterpret_cast<F*>(dlsym(library, name));
  if (found == nullptr) throw std::runtime_error(std::string("the CUDA stub lacks ") + name);
  return found;
}

}  // namespace

const char* CudaStub::path() { return WEFT_TEST_CUDA_STUB; }
const char* CudaStub::old_path() { return WEFT_TEST_OLD_CUDA_STUB; }

CudaStub::CudaStub() : library_(dlopen(path(), RTLD_NOW | RTLD_LOCAL)), state_(nullptr) {
  if (library_ == nullptr) throw std::runtime_error(dlerror());
  function<void()>(library_, "weft_cuda_stub_reset")();
  state_ = function<CudaStubState*()>(library_, "weft_cuda_stub_state")();
}

CudaStub::~CudaStub() { dlclose(library_); }

void CudaStub::own(const void* pointer, std::size_t size, int ordinal, bool pinned_host) {
  function<void(const void*, std::size_t, int, bool)>(library_, "weft_cuda_stub_own")(pointer, size, ordinal,
                                                                                      pinned_host);
}

int CudaStub::current() const { return function<int()>(library_, "weft_cuda_stub_current")(); }

}  // namespace weft::test
