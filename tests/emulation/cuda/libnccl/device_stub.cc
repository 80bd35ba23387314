// In place of NCCL's device library. No kernel ever runs on a GPU here: the host side needs the kernels' addresses and
// names, and two functions that nvcc would compile. Built with NCCL's headers by build_nccl.sh.
#include "alloc.h"
#include "collectives.h"
#include "device.h"
#include "nccl/device_image.h"
#include "nccl_device/impl/comm__types.h"

// kernels.inc has one KERNEL(name) for each kernel that NCCL's tables name.
#define KERNEL(name) \
  extern "C" __attribute__((visibility("hidden"))) void name() {}
#include "kernels.inc"
#undef KERNEL

// The hooks by which objects that nvcc compiled announce themselves to the CUDA runtime.
extern "C" void** __cudaRegisterFatBinary(void*);
extern "C" void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*, dim3*,
                                       int*);
extern "C" void __cudaUnregisterFatBinary(void**);

namespace {

using weft::emulation::nccl::DeviceFunction;
using weft::emulation::nccl::DeviceImage;
using weft::emulation::nccl::PatShape;
using weft::emulation::nccl::PatStep;

// The PAT algorithms are templates of the element type and use nothing but its size.
template <size_t kSize>
struct Element {
  char bytes[kSize];
};

struct Plan {
  virtual ~Plan() = default;
  virtual void next(ncclPatStep* step) = 0;
};

template <class Algorithm>
struct PlanOf : Plan {
  explicit PlanOf(const PatShape& shape)
      : algorithm(shape.chunk * shape.element_size, NCCL_STEPS, NCCL_PAT_NWORKERS / WARP_SIZE, shape.begin, shape.end,
                  shape.count, shape.chunk, shape.rank, shape.ranks) {}
  void next(ncclPatStep* step) override { algorithm.getNextOp(step); }
  Algorithm algorithm;
};

template <template <class> class Algorithm>
Plan* plan_for(const PatShape& shape) {
  switch (shape.element_size) {
    case 1: return new PlanOf<Algorithm<Element<1>>>(shape);
    case 2: return new PlanOf<Algorithm<Element<2>>>(shape);
    case 4: return new PlanOf<Algorithm<Element<4>>>(shape);
    case 8: return new PlanOf<Algorithm<Element<8>>>(shape);
    default: return nullptr;
  }
}

void* open_pat(const PatShape& shape) {
  return shape.gather ? plan_for<PatAGAlgorithm>(shape) : plan_for<PatRSAlgorithm>(shape);
}

void next_pat(void* plan, PatStep* step) {
  ncclPatStep theirs{};
  static_cast<Plan*>(plan)->next(&theirs);
  *step = PatStep{theirs.recvDim,    theirs.sendDim,       theirs.recvOffset,    theirs.sendOffset,
                  theirs.stepOffset, theirs.postRecv != 0, theirs.postSend != 0, (theirs.flags & PatSkipped) != 0,
                  theirs.last == 2,  theirs.nelem,         theirs.inpIx,         theirs.outIx};
}

void close_pat(void* plan) { delete static_cast<Plan*>(plan); }

// functions.inc has one FUNCTION(id, name) for each device function, from NCCL's generated table.
constexpr DeviceFunction kFunctions[] = {
#define FUNCTION(id, name) {id, name},
#include "functions.inc"
#undef FUNCTION
};

DeviceImage image = {DeviceImage::kMagic,
                     NCCL_VERSION_CODE,
                     kFunctions,
                     sizeof kFunctions / sizeof kFunctions[0],
                     open_pat,
                     next_pat,
                     close_pat};
void** registration;

__attribute__((constructor)) void register_kernels() {
  registration = __cudaRegisterFatBinary(&image);
#define KERNEL(name)                                                                                              \
  __cudaRegisterFunction(registration, reinterpret_cast<const char*>(&name), const_cast<char*>(#name), #name, -1, \
                         nullptr, nullptr, nullptr, nullptr, nullptr);
#include "kernels.inc"
#undef KERNEL
}

__attribute__((destructor)) void unregister_kernels() { __cudaUnregisterFatBinary(registration); }

}  // namespace

// A communicator of one rank: copies. NCCL's kernel for a pre-multiplied sum is not there.
ncclResult_t ncclLaunchOneRank(void* dst, void const* src, size_t count, struct ncclDevRedOpFull op,
                               ncclDataType_t type, cudaStream_t stream) {
  if (op.op == ncclDevPreMulSum) {
    WARN("a pre-multiplied sum over one rank is not emulated");
    return ncclInvalidUsage;
  }
  if (dst == src) return ncclSuccess;
  return ncclCudaMemcpyAsync(static_cast<char*>(dst), static_cast<char*>(const_cast<void*>(src)),
                             count * ncclTypeSize(type), stream);
}

ncclResult_t ncclGinResetSignalsAndCounters(struct ncclComm*, ncclDevComm_t const* comm) {
  if (comm->ginSignalCount == 0 && comm->ginCounterCount == 0) return ncclSuccess;
  WARN("GPU-initiated networking is not emulated");
  return ncclInvalidUsage;
}
