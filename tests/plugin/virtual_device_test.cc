// Devices that NCCL makes of others. The loopback interface is the only NIC here; tests/lab has real sets.
#include <string>
#include <vector>

#include "tests/plugin/harness.h"

namespace weft::test {
namespace {

constexpr int kFirst = 9;  ///< the first version that can ask for one

class VirtualDeviceTest : public PluginTest, public ::testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Abi, VirtualDeviceTest, ::testing::Range(kFirst, kNewestVersion + 1), version_name);

int device_count(Net& net) {
  int count = 0;
  EXPECT_EQ(net.devices(&count), nccl::ncclSuccess);
  return count;
}

// What NCCL has asked for once stays for the life of the library: each test has a process to itself.
TEST_P(VirtualDeviceTest, IsSeenBesideItsMembersAndCarriesData) {
  WEFT_IN_FRESH_PROCESS({
    const auto net = start(GetParam());
    int index = -1;
    EXPECT_EQ(net->make_vdevice(&index, 1, {0}), nccl::ncclSuccess);
    EXPECT_EQ(index, 1);
    EXPECT_EQ(device_count(*net), 2);
    nccl::ncclNetProperties_v12_t props{};
    EXPECT_EQ(net->properties(1, &props), nccl::ncclSuccess);
    EXPECT_STREQ(props.name, "lo");
    EXPECT_EQ(props.vProps.ndevs, 1);
    EXPECT_EQ(props.vProps.devs[0], 0);
    Connection connection(*net, *net, 1);
    connection.transfer(pattern(1000003, 1), 1000003, 7);
  });
}

TEST_P(VirtualDeviceTest, IsThereAgainAfterTheNextStartUntilNcclCountsAnew) {
  WEFT_IN_FRESH_PROCESS({
    const auto net = start(GetParam());
    int index = -1;
    EXPECT_EQ(net->make_vdevice(&index, 1, {0}), nccl::ncclSuccess);
    EXPECT_EQ(net->finalize(), nccl::ncclSuccess);
    const auto again = start(GetParam());
    nccl::ncclNetProperties_v12_t props{};
    EXPECT_EQ(again->properties(1, &props), nccl::ncclSuccess);
    EXPECT_EQ(props.vProps.ndevs, 1);
    EXPECT_EQ(device_count(*again), 2);
    EXPECT_EQ(again->finalize(), nccl::ncclSuccess);
    const auto anew = start(GetParam());
    if (GetParam() >= 11) {  // a start of older versions is for good: nothing was opened anew
      EXPECT_EQ(device_count(*anew), 1);
      EXPECT_EQ(anew->make_vdevice(&index, 1, {0}), nccl::ncclSuccess);
      EXPECT_EQ(index, 1);
    }
    EXPECT_EQ(device_count(*anew), 2);
    EXPECT_EQ(anew->finalize(), nccl::ncclSuccess);
  });
}

TEST_P(VirtualDeviceTest, AskedForTwiceIsTheSame) {
  WEFT_IN_FRESH_PROCESS({
    const auto net = start(GetParam());
    int first = -1;
    int second = -1;
    EXPECT_EQ(net->make_vdevice(&first, 1, {0}), nccl::ncclSuccess);
    EXPECT_EQ(net->make_vdevice(&second, 1, {0}), nccl::ncclSuccess);
    EXPECT_EQ(first, second);
    EXPECT_EQ(device_count(*net), 2);
  });
}

TEST_P(VirtualDeviceTest, WhatCannotBeMadeIsRefusedAndChangesNothing) {
  WEFT_IN_FRESH_PROCESS({
    const auto net = start(GetParam());
    int index = -1;
    for (const auto& [count, members] : std::vector<std::pair<int, std::vector<int>>>{
             {1, {1}}, {1, {-1}}, {2, {0, 0}}, {0, {}}, {-1, {0}}, {99, {0}}}) {
      EXPECT_EQ(net->make_vdevice(&index, count, members), nccl::ncclInvalidArgument) << count;
      expect_warning("makeVDevice");
    }
    EXPECT_EQ(net->make_vdevice(nullptr, 1, {0}), nccl::ncclInvalidArgument);
    expect_warning("d or props is null");
    EXPECT_EQ(device_count(*net), 1);
    EXPECT_EQ(net->make_vdevice(&index, 1, {0}), nccl::ncclSuccess);
    EXPECT_EQ(net->make_vdevice(&index, 1, {1}), nccl::ncclInvalidArgument) << "one of others cannot be a member";
    expect_warning("is made of others itself");
    expect_no_other_warnings();
  });
}

}  // namespace
}  // namespace weft::test
