#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::emulation::nccl {

// NCCL's device-side operators and its ncclDataType_t.
enum class Operator { kSum, kProduct, kMinMax, kPreMultipliedSum, kSumThenDivide };
enum class Type { kI8, kU8, kI32, kU32, kI64, kU64, kF16, kF32, kF64, kBf16 };

size_t size_of(Type type);

// How values are put together. argument, as NCCL's host passes it: the factor of a pre-multiplied sum in the type's
// bits; for minimum and maximum the mask that makes an unsigned minimum of both (floats: odd for maximum); for an
// integer average twice the number of ranks, plus one for signed types.
struct Reduction {
  Operator op = Operator::kSum;
  Type type = Type::kI8;
  uint64_t argument = 0;

  // Whether a rank's own values change before, or sums change at the end.
  bool scales() const { return op == Operator::kPreMultipliedSum; }
  bool divides() const { return op == Operator::kSumThenDivide; }

  // to may be one of the sources.
  void combine(void* to, const void* one, const void* other, size_t count) const;
  void scale(void* to, const void* from, size_t count) const;
  void divide(void* values, size_t count) const;
};

}  // namespace weft::emulation::nccl
