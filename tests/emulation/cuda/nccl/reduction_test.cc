#include "tests/emulation/cuda/nccl/reduction.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>

namespace weft::emulation::nccl {
namespace {

template <class T>
T combine(const Reduction& reduction, T one, T other) {
  T result;
  reduction.combine(&result, &one, &other, 1);
  return result;
}

uint16_t bf16(float value) { return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16); }

TEST(ReductionTest, AddsAndMultiplies) {
  EXPECT_EQ(combine<float>({Operator::kSum, Type::kF32, 0}, 1.5F, 2.25F), 3.75F);
  EXPECT_EQ(combine<double>({Operator::kProduct, Type::kF64, 0}, 1.5, -2), -3.0);
  EXPECT_EQ(combine<int8_t>({Operator::kSum, Type::kI8, 0}, 100, 100), int8_t{-56});
  EXPECT_EQ(combine<uint64_t>({Operator::kProduct, Type::kU64, 0}, 1ULL << 40, 3), 3ULL << 40);
  EXPECT_EQ(static_cast<float>(combine<_Float16>({Operator::kSum, Type::kF16, 0}, 2048, 3)), 2052.0F);
  EXPECT_EQ(combine<uint16_t>({Operator::kSum, Type::kBf16, 0}, bf16(96), bf16(24)), bf16(120));
}

// NCCL's mask for integers: the sign bit for signed types, all bits for a maximum, both together for both.
TEST(ReductionTest, TakesExtremesByNcclsArgument) {
  EXPECT_EQ(combine<int32_t>({Operator::kMinMax, Type::kI32, 0x80000000}, -5, 3), -5);
  EXPECT_EQ(combine<int32_t>({Operator::kMinMax, Type::kI32, 0x7fffffff}, -5, 3), 3);
  EXPECT_EQ(combine<uint8_t>({Operator::kMinMax, Type::kU8, 0}, 200, 3), 3);
  EXPECT_EQ(combine<uint8_t>({Operator::kMinMax, Type::kU8, 0xff}, 200, 3), 200);
  EXPECT_EQ(combine<float>({Operator::kMinMax, Type::kF32, 0}, -1, 2), -1.0F);
  EXPECT_EQ(combine<float>({Operator::kMinMax, Type::kF32, 0xffffffff}, -1, 2), 2.0F);
}

TEST(ReductionTest, AveragesIntegersAtTheEnd) {
  std::array<int32_t, 2> values = {-7, 9};
  const Reduction of_four_signed{Operator::kSumThenDivide, Type::kI32, 4 << 1 | 1};
  EXPECT_TRUE(of_four_signed.divides());
  of_four_signed.divide(values.data(), values.size());
  EXPECT_EQ(values, (std::array<int32_t, 2>{-1, 2}));
  std::array<uint8_t, 1> bytes = {250};
  Reduction{Operator::kSumThenDivide, Type::kU8, 4 << 1}.divide(bytes.data(), 1);
  EXPECT_EQ(bytes[0], 62);
}

TEST(ReductionTest, ScalesOwnValuesByBitsOfTheirType) {
  const Reduction half{Operator::kPreMultipliedSum, Type::kF32, std::bit_cast<uint32_t>(0.5F)};
  EXPECT_TRUE(half.scales());
  const std::array<float, 2> values = {3, 8};
  std::array<float, 2> scaled = {};
  half.scale(scaled.data(), values.data(), values.size());
  EXPECT_EQ(scaled, (std::array<float, 2>{1.5F, 4}));
  EXPECT_EQ(combine<float>(half, 1, 2), 3.0F);
}

TEST(ReductionTest, MayWriteOverASource) {
  std::array<float, 3> sum = {1, 2, 3};
  const std::array<float, 3> more = {10, 20, 30};
  Reduction{Operator::kSum, Type::kF32, 0}.combine(sum.data(), sum.data(), more.data(), sum.size());
  EXPECT_EQ(sum, (std::array<float, 3>{11, 22, 33}));
}

}  // namespace
}  // namespace weft::emulation::nccl
