#include "tests/emulation/cuda/nccl/reduction.h"

#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

namespace weft::emulation::nccl {
namespace {

// bfloat16, computed in float and rounded to nearest even.
struct Bf16 {
  explicit Bf16(float value) {
    const auto wide = std::bit_cast<uint32_t>(value);
    bits = static_cast<uint16_t>((wide + 0x7fff + ((wide >> 16) & 1)) >> 16);
  }
  explicit operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
  uint16_t bits;
};

// What a type is computed in.
template <class T>
struct ComputedIn {
  using Type = T;
};
template <>
struct ComputedIn<uint8_t> {
  using Type = uint32_t;  // no promotion to int
};
template <>
struct ComputedIn<_Float16> {
  using Type = float;
};
template <>
struct ComputedIn<Bf16> {
  using Type = float;
};

template <class T>
T argument_as(uint64_t argument) {
  static_assert(std::endian::native == std::endian::little);
  T value{0};
  memcpy(static_cast<void*>(&value), &argument, sizeof value);
  return value;
}

template <class T>
void combine_as(const Reduction& reduction, T* to, const T* one, const T* other, size_t count) {
  using Wide = typename ComputedIn<T>::Type;
  const auto each = [&](auto function) {
    for (size_t i = 0; i < count; ++i) to[i] = function(one[i], other[i]);
  };
  switch (reduction.op) {
    case Operator::kSum:
    case Operator::kPreMultipliedSum:
    case Operator::kSumThenDivide: each([](T a, T b) { return T(Wide(a) + Wide(b)); }); break;
    case Operator::kProduct: each([](T a, T b) { return T(Wide(a) * Wide(b)); }); break;
    case Operator::kMinMax:
      if constexpr (std::is_integral_v<T>) {
        const auto mask = static_cast<T>(reduction.argument);
        each([mask](T a, T b) { return T(a ^ mask) < T(b ^ mask) ? a : b; });
      } else if (reduction.argument % 2 == 0) {
        each([](T a, T b) { return Wide(b) < Wide(a) ? b : a; });
      } else {
        each([](T a, T b) { return Wide(a) < Wide(b) ? b : a; });
      }
      break;
  }
}

template <class T>
void scale_as(const Reduction& reduction, T* to, const T* from, size_t count) {
  using Wide = typename ComputedIn<T>::Type;
  const auto factor = Wide(argument_as<T>(reduction.argument));
  for (size_t i = 0; i < count; ++i) to[i] = T(Wide(from[i]) * factor);
}

template <class T>
void divide_as(const Reduction& reduction, T* values, size_t count) {
  if constexpr (std::is_integral_v<T>) {
    const auto divisor = static_cast<int64_t>(reduction.argument >> 1);
    const bool is_signed = reduction.argument % 2 == 1;
    for (size_t i = 0; i < count; ++i) {
      values[i] = is_signed ? T(int64_t{std::make_signed_t<T>(values[i])} / divisor)
                            : T(uint64_t{values[i]} / static_cast<uint64_t>(divisor));
    }
  }
}

// Calls the function with a null pointer of the type's own. Sums of signed and unsigned integers are the same bits.
template <class Function>
void with_type(Type type, Function function) {
  switch (type) {
    case Type::kI8:
    case Type::kU8: return function(static_cast<uint8_t*>(nullptr));
    case Type::kI32:
    case Type::kU32: return function(static_cast<uint32_t*>(nullptr));
    case Type::kI64:
    case Type::kU64: return function(static_cast<uint64_t*>(nullptr));
    case Type::kF16: return function(static_cast<_Float16*>(nullptr));
    case Type::kF32: return function(static_cast<float*>(nullptr));
    case Type::kF64: return function(static_cast<double*>(nullptr));
    case Type::kBf16: return function(static_cast<Bf16*>(nullptr));
  }
}

}  // namespace

size_t size_of(Type type) {
  size_t size = 0;
  with_type(type, [&](auto* null) { size = sizeof *null; });
  return size;
}

void Reduction::combine(void* to, const void* one, const void* other, size_t count) const {
  with_type(type, [&](auto* null) {
    using T = std::remove_pointer_t<decltype(null)>;
    combine_as(*this, static_cast<T*>(to), static_cast<const T*>(one), static_cast<const T*>(other), count);
  });
}

void Reduction::scale(void* to, const void* from, size_t count) const {
  with_type(type, [&](auto* null) {
    using T = std::remove_pointer_t<decltype(null)>;
    scale_as(*this, static_cast<T*>(to), static_cast<const T*>(from), count);
  });
}

void Reduction::divide(void* values, size_t count) const {
  with_type(type, [&](auto* null) { divide_as(*this, static_cast<decltype(null)>(values), count); });
}

}  // namespace weft::emulation::nccl
