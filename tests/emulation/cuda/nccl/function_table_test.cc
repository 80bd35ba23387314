#include "tests/emulation/cuda/nccl/function_table.h"

#include <gtest/gtest.h>

namespace weft::emulation::nccl {
namespace {

TEST(FunctionTableTest, ReadsNcclsNames) {
  const Function reduce = parse_function("AllReduce PreMulSum bf16 TREE LL");
  EXPECT_EQ(reduce.collective, Collective::kAllReduce);
  EXPECT_EQ(reduce.op, Operator::kPreMultipliedSum);
  EXPECT_EQ(reduce.type, Type::kBf16);
  EXPECT_EQ(reduce.algorithm, Algorithm::kTree);
  EXPECT_TRUE(reduce.ll);
  const Function gather = parse_function("AllGather PAT SIMPLE");
  EXPECT_EQ(gather.collective, Collective::kAllGather);
  EXPECT_EQ(gather.algorithm, Algorithm::kPat);
  EXPECT_EQ(parse_function("SendRecv").collective, Collective::kSendRecv);
}

TEST(FunctionTableTest, HasNoCollectiveForWhatIsNotEmulated) {
  for (const char* name : {"AllReduce Sum f32 RING LL128", "AllReduce Sum f8e4m3 RING SIMPLE", "AllGatherV RING LL",
                           "AllReduce Sum f32 NVLS SIMPLE", "ReduceScatter Sum f32 COLLNET_DIRECT SIMPLE", "Nothing"}) {
    EXPECT_EQ(parse_function(name).collective, Collective::kNone) << name;
    EXPECT_STREQ(parse_function(name).name, name);
  }
}

TEST(FunctionTableTest, IsAddressedByNcclsNumbers) {
  const DeviceFunction functions[] = {{5, "Broadcast RING SIMPLE"}, {2, "SendRecv"}};
  DeviceImage image{};
  image.functions = functions;
  image.function_count = 2;
  const FunctionTable table(image);
  EXPECT_EQ(table[5].collective, Collective::kBroadcast);
  EXPECT_EQ(table[2].collective, Collective::kSendRecv);
  EXPECT_EQ(table[3].collective, Collective::kNone);
  EXPECT_EQ(table[99].collective, Collective::kNone);
}

}  // namespace
}  // namespace weft::emulation::nccl
