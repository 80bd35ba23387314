#include "transports/fabric/cuda_driver.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/support/cuda_stub.h"
#include "tests/support/library_paths.h"
#include "tests/support/log_capture.h"

namespace weft::fabric {
namespace {

class CudaDriverTest : public testing::Test {
 public:
  void open() {
    driver = CudaDriver::open(test::CudaStub::path());
    ASSERT_TRUE(driver.has_value());
  }
  static bool logged(std::string_view part) { return test::LogCapture::current().has(log::Level::kInfo, part); }

  test::CudaStub stub;
  std::optional<CudaDriver> driver;
  std::array<std::byte, 64> memory{};
};

TEST_F(CudaDriverTest, MachineWithoutADriverIsNormal) {
  EXPECT_FALSE(CudaDriver::open("no-such-libcuda.so").has_value());
  EXPECT_TRUE(logged("no CUDA driver: no-such-libcuda.so"));
}

TEST_F(CudaDriverTest, LibraryWithoutTheFunctionsIsNoDriver) {
  EXPECT_FALSE(CudaDriver::open(test::old_libfabric()).has_value());
  EXPECT_TRUE(logged("lacks a function"));
}

TEST_F(CudaDriverTest, DriverThatDoesNotStartIsNoDriver) {
  stub.state().init_result = 999;
  EXPECT_FALSE(CudaDriver::open(test::CudaStub::path()).has_value());
  EXPECT_TRUE(logged("cuInit failed: CUDA error 999"));
}

TEST_F(CudaDriverTest, MachineWithoutDevicesIsNormal) {
  stub.state().device_count = 0;
  EXPECT_FALSE(CudaDriver::open(test::CudaStub::path()).has_value());
  EXPECT_TRUE(logged("no CUDA devices"));
}

TEST_F(CudaDriverTest, CountsDevices) {
  ASSERT_NO_FATAL_FAILURE(open());
  EXPECT_EQ(driver->device_count(), 2);
}

TEST_F(CudaDriverTest, FindsTheDeviceOfAPointer) {
  ASSERT_NO_FATAL_FAILURE(open());
  stub.own(memory.data(), 32, 1);
  EXPECT_EQ(driver->device_of(memory.data()).value_or(-1), 1);
  EXPECT_EQ(driver->device_of(memory.data() + 31).value_or(-1), 1);
}

TEST_F(CudaDriverTest, HostMemoryHasNoDevice) {
  ASSERT_NO_FATAL_FAILURE(open());
  const auto device = driver->device_of(memory.data());
  ASSERT_FALSE(device.has_value());
  EXPECT_EQ(device.error().code, Code::kArgument);
  EXPECT_EQ(device.error().number, 1);
}

TEST_F(CudaDriverTest, PinnedHostMemoryHasNoDevice) {
  ASSERT_NO_FATAL_FAILURE(open());
  stub.own(memory.data(), 32, 0, true);
  EXPECT_FALSE(driver->device_of(memory.data()).has_value());
}

TEST_F(CudaDriverTest, FlushIsTheDevicesToOffer) {
  ASSERT_NO_FATAL_FAILURE(open());
  EXPECT_TRUE(driver->can_flush(0));
  EXPECT_FALSE(driver->can_flush(1));
  EXPECT_FALSE(driver->can_flush(7));
}

TEST_F(CudaDriverTest, FlushesInTheDevicesContext) {
  ASSERT_NO_FATAL_FAILURE(open());
  const Status status = driver->flush_writes(0);
  EXPECT_TRUE(status.has_value()) << status.error().what;
  EXPECT_EQ(stub.state().flushes, 1);
  EXPECT_EQ(stub.current(), -1);
  EXPECT_EQ(stub.state().retained, 0);
}

TEST_F(CudaDriverTest, FailedFlushIsReported) {
  ASSERT_NO_FATAL_FAILURE(open());
  stub.state().flush_result = 4;
  const Status status = driver->flush_writes(0);
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().number, 4);
  EXPECT_NE(status.error().what.find("cuFlushGPUDirectRDMAWrites failed on CUDA device 0"), std::string::npos);
}

TEST_F(CudaDriverTest, FlushWithoutAContextIsReported) {
  ASSERT_NO_FATAL_FAILURE(open());
  stub.state().fail_retain = true;
  const Status status = driver->flush_writes(0);
  ASSERT_FALSE(status.has_value());
  EXPECT_NE(status.error().what.find("the context of CUDA device 0"), std::string::npos) << status.error().what;
  EXPECT_EQ(stub.state().flushes, 0);
}

TEST_F(CudaDriverTest, OldDriverCannotFlush) {
  driver = CudaDriver::open(test::CudaStub::old_path());
  ASSERT_TRUE(driver.has_value());
  EXPECT_FALSE(driver->can_flush(0));
  const Status status = driver->flush_writes(0);
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, Code::kUsage);
}

TEST_F(CudaDriverTest, ContextScopesNest) {
  ASSERT_NO_FATAL_FAILURE(open());
  {
    const CudaDriver::ContextScope outer(*driver, 0);
    EXPECT_TRUE(outer.current());
    EXPECT_EQ(stub.current(), 0);
    {
      const CudaDriver::ContextScope inner(*driver, 1);
      EXPECT_EQ(stub.current(), 1);
      EXPECT_EQ(stub.state().retained, 2);
    }
    EXPECT_EQ(stub.current(), 0);
  }
  EXPECT_EQ(stub.current(), -1);
  EXPECT_EQ(stub.state().retained, 0);
}

TEST_F(CudaDriverTest, FailedContextScopeChangesNothing) {
  ASSERT_NO_FATAL_FAILURE(open());
  stub.state().fail_push = true;
  {
    const CudaDriver::ContextScope scope(*driver, 0);
    EXPECT_FALSE(scope.current());
    EXPECT_EQ(stub.state().retained, 1);
  }
  EXPECT_EQ(stub.state().retained, 0);
  const CudaDriver::ContextScope nowhere(*driver, 5);
  EXPECT_FALSE(nowhere.current());
}

}  // namespace
}  // namespace weft::fabric
