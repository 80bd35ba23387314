// The emulated driver through its own entry points.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <vector>

#include "tests/emulation/cuda/driver.h"
#include "tests/emulation/cuda/nccl/device_image.h"

namespace weft::emulation {
namespace {

constexpr size_t kBytes = 64 << 10;

ino_t inode_of(int fd) {
  struct stat status{};
  EXPECT_EQ(fstat(fd, &status), 0);
  return status.st_ino;
}

class DriverTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("WEFT_LAB_CUDA_DEVICES", "2", 1);
    setenv("WEFT_LAB_CUDA_PCI", "0000:a1:00.0,0001:b2:03.0", 1);
  }
  void SetUp() override {
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    use(0);
  }
  static void use(int device) {
    CUcontext context = nullptr;
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, device), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  }
  static CUdeviceptr allocate(size_t bytes = kBytes) {
    CUdeviceptr address = 0;
    EXPECT_EQ(cuMemAlloc_v2(&address, bytes), CUDA_SUCCESS);
    return address;
  }
  static int export_dma_buf(CUdeviceptr address, size_t bytes) {
    int fd = -1;
    EXPECT_EQ(cuMemGetHandleForAddressRange(&fd, address, bytes, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0), CUDA_SUCCESS);
    return fd;
  }
};

TEST_F(DriverTest, TakesPciAddressesFromTheEnvironment) {
  char text[32];
  ASSERT_EQ(cuDeviceGetPCIBusId(text, sizeof text, 1), CUDA_SUCCESS);
  EXPECT_STREQ(text, "0001:b2:03.0");
  CUdevice device = -1;
  ASSERT_EQ(cuDeviceGetByPCIBusId(&device, "0000:A1:00.0"), CUDA_SUCCESS);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(cuDeviceGetByPCIBusId(&device, "0000:77:00.0"), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDeviceGet(&device, 2), CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(DriverTest, KnowsItsMemory) {
  use(1);
  const CUdeviceptr address = allocate();
  int device = -1;
  EXPECT_EQ(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address + 100), CUDA_SUCCESS);
  EXPECT_EQ(device, 1);
  CUdeviceptr base = 0;
  size_t size = 0;
  EXPECT_EQ(cuMemGetAddressRange_v2(&base, &size, address + kBytes - 1), CUDA_SUCCESS);
  EXPECT_EQ(base, address);
  EXPECT_EQ(size, kBytes);
  ASSERT_EQ(cuMemFree_v2(address), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverTest, GivesFreedMemoryBackEmpty) {
  CUdeviceptr address = allocate();
  ASSERT_EQ(cuMemsetD8_v2(address, 0x5a, kBytes), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  size_t free_before = 0, free_after = 0, total = 0;
  ASSERT_EQ(cuMemGetInfo_v2(&free_before, &total), CUDA_SUCCESS);
  ASSERT_EQ(cuMemFree_v2(address), CUDA_SUCCESS);
  ASSERT_EQ(cuMemGetInfo_v2(&free_after, &total), CUDA_SUCCESS);
  EXPECT_EQ(free_after, free_before + kBytes);
  const CUdeviceptr again = allocate();
  EXPECT_EQ(again, address);
  EXPECT_EQ(*static_cast<char*>(pointer(again)), 0);
  ASSERT_EQ(cuMemFree_v2(again), CUDA_SUCCESS);
}

TEST_F(DriverTest, RunsAStreamInOrderAndStreamZeroAfterIt) {
  CUstream stream = nullptr;
  ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_DEFAULT), CUDA_SUCCESS);
  struct State {
    std::atomic<bool> open = false;
    std::vector<int> seen;
  } state;
  const auto gate = [](void* at) {
    auto& all = *static_cast<State*>(at);
    all.open.wait(false);
    all.seen.push_back(1);
  };
  ASSERT_EQ(cuLaunchHostFunc(stream, gate, &state), CUDA_SUCCESS);
  ASSERT_EQ(
      cuLaunchHostFunc(stream, [](void* at) { static_cast<State*>(at)->seen.push_back(2); }, &state), CUDA_SUCCESS);
  ASSERT_EQ(
      cuLaunchHostFunc(nullptr, [](void* at) { static_cast<State*>(at)->seen.push_back(3); }, &state), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  state.open = true;
  state.open.notify_all();
  ASSERT_EQ(cuStreamSynchronize(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(state.seen, (std::vector<int>{1, 2, 3}));
  ASSERT_EQ(cuStreamDestroy_v2(stream), CUDA_SUCCESS);
}

TEST_F(DriverTest, CopiesPageableMemoryBeforeTheCallReturns) {
  const CUdeviceptr address = allocate();
  char source[] = "before";
  ASSERT_EQ(cuMemcpyHtoDAsync_v2(address, source, sizeof source, nullptr), CUDA_SUCCESS);
  memcpy(source, "after!", sizeof source);
  char got[sizeof source] = {};
  ASSERT_EQ(cuMemcpyDtoH_v2(got, address, sizeof got), CUDA_SUCCESS);
  EXPECT_STREQ(got, "before");
  ASSERT_EQ(cuMemFree_v2(address), CUDA_SUCCESS);
}

TEST_F(DriverTest, ExportsARangeTwiceAsTheSameDmaBuf) {
  const CUdeviceptr address = allocate();
  memcpy(pointer(address), "kept", 5);
  const int first = export_dma_buf(address, kBytes);
  const int second = export_dma_buf(address, kBytes);
  EXPECT_NE(first, second);
  EXPECT_EQ(inode_of(first), inode_of(second));
  auto* mapped = static_cast<char*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, first, 0));
  ASSERT_NE(mapped, MAP_FAILED);
  EXPECT_STREQ(mapped, "kept");
  mapped[kBytes - 1] = 'x';  // as a NIC would
  EXPECT_EQ(static_cast<char*>(pointer(address))[kBytes - 1], 'x');
  munmap(mapped, kBytes);
  close(first);
  close(second);
  ASSERT_EQ(cuMemFree_v2(address), CUDA_SUCCESS);
}

TEST_F(DriverTest, ForgetsADmaBufWithItsMemory) {
  CUdeviceptr address = allocate();
  const int first = export_dma_buf(address, kBytes);
  ASSERT_EQ(cuMemFree_v2(address), CUDA_SUCCESS);
  ASSERT_EQ(allocate(), address);
  const int second = export_dma_buf(address, kBytes);
  EXPECT_NE(inode_of(first), inode_of(second));
  close(first);
  close(second);
  ASSERT_EQ(cuMemFree_v2(address), CUDA_SUCCESS);
}

TEST_F(DriverTest, RefusesOverlappingDmaBufs) {
  const CUdeviceptr address = allocate();
  close(export_dma_buf(address, kBytes / 2));
  int fd = -1;
  EXPECT_EQ(
      cuMemGetHandleForAddressRange(&fd, address + kBytes / 4, kBytes / 2, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0),
      CUDA_ERROR_NOT_SUPPORTED);
  ASSERT_EQ(cuMemFree_v2(address), CUDA_SUCCESS);
}

TEST_F(DriverTest, KeepsAnAllocationWhileAnyHandleOrMappingIsThere) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1};
  const size_t size = 2 << 20;
  CUmemGenericAllocationHandle handle = 0, retained = 0;
  CUdeviceptr address = 0;
  ASSERT_EQ(cuMemCreate(&handle, size, &properties, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAddressReserve(&address, size, 0, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemMap(address, size, 0, handle, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
  ASSERT_EQ(cuMemRetainAllocationHandle(&retained, pointer(address + 100)), CUDA_SUCCESS);
  EXPECT_EQ(retained, handle);
  int device = -1;
  ASSERT_EQ(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address), CUDA_SUCCESS);
  EXPECT_EQ(device, 1);
  int fd = -1;
  ASSERT_EQ(cuMemExportToShareableHandle(&fd, retained, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0), CUDA_SUCCESS);
  struct stat status{};
  ASSERT_EQ(fstat(fd, &status), 0) << "the descriptor is of no memory";
  EXPECT_EQ(status.st_size, static_cast<off_t>(size));
  ASSERT_EQ(cuMemUnmap(address, size), CUDA_SUCCESS);
  EXPECT_EQ(cuMemUnmap(address, size), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuMemGetAllocationPropertiesFromHandle(&properties, retained), CUDA_SUCCESS);
  ASSERT_EQ(cuMemRelease(retained), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAddressFree(address, size), CUDA_SUCCESS);
  close(fd);
}

TEST_F(DriverTest, SharesMemoryWithAnotherProcess) {
  const CUdeviceptr address = allocate();
  CUipcMemHandle handle;
  ASSERT_EQ(cuIpcGetMemHandle(&handle, address), CUDA_SUCCESS);
  const pid_t child = fork();
  if (child == 0) {
    CUdeviceptr theirs = 0;
    if (cuIpcOpenMemHandle_v2(&theirs, handle, 0) != CUDA_SUCCESS) _exit(1);
    strcpy(static_cast<char*>(pointer(theirs)), "from the child");
    _exit(cuIpcCloseMemHandle(theirs) == CUDA_SUCCESS ? 0 : 2);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_STREQ(static_cast<char*>(pointer(address)), "from the child");
  ASSERT_EQ(cuMemFree_v2(address), CUDA_SUCCESS);
}

TEST_F(DriverTest, RefusesAKernelThatIsNotEmulated) {
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  CUfunction function = nullptr;
  const char code[] = "a fat binary of somebody's";
  ASSERT_EQ(cuLibraryLoadData(&library, code, nullptr, nullptr, 0, nullptr, nullptr, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuLibraryGetKernel(&kernel, library, "ncclDevKernel_Generic"), CUDA_SUCCESS);
  ASSERT_EQ(cuKernelGetFunction(&function, kernel), CUDA_SUCCESS);
  EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), CUDA_ERROR_NOT_SUPPORTED);
  ASSERT_EQ(cuLibraryUnload(library), CUDA_SUCCESS);
}

TEST_F(DriverTest, RefusesAnNcclWhoseLayoutsAreNotKnown) {
  nccl::DeviceImage image{};
  image.magic = nccl::DeviceImage::kMagic;
  image.nccl_version = 23001;
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  ASSERT_EQ(cuLibraryLoadData(&library, &image, nullptr, nullptr, 0, nullptr, nullptr, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuLibraryGetKernel(&kernel, library, "ncclDevKernel_Generic"), CUDA_SUCCESS);
  EXPECT_EQ(cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
            CUDA_ERROR_NOT_SUPPORTED);
  ASSERT_EQ(cuLibraryUnload(library), CUDA_SUCCESS);
}

TEST_F(DriverTest, FindsEntryPointsByVersion) {
  void* function = nullptr;
  CUdriverProcAddressQueryResult status{};
  ASSERT_EQ(cuGetProcAddress_v2("cuMemAlloc", &function, 13000, 0, &status), CUDA_SUCCESS);
  EXPECT_EQ(function, reinterpret_cast<void*>(&cuMemAlloc_v2));
  ASSERT_EQ(cuGetProcAddress_v2("cuCtxGetDevice", &function, 12000, 0, &status), CUDA_SUCCESS);
  EXPECT_EQ(function, reinterpret_cast<void*>(&cuCtxGetDevice));
  EXPECT_EQ(cuGetProcAddress_v2("cuNoSuchThing", &function, 13000, 0, &status), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
}

}  // namespace
}  // namespace weft::emulation
