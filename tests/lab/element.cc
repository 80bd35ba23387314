#include "tests/lab/element.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <iterator>

namespace weft::lab {
namespace {

constexpr const char* kElements[] = {"int8",   "uint8", "int32", "uint32", "int64",
                                     "uint64", "half",  "float", "double", "bfloat16"};
constexpr const char* kOperations[] = {"sum", "prod", "max", "min", "avg"};

template <class Enum, size_t kCount>
bool parse(const char* const (&names)[kCount], const std::string& name, Enum* value) {
  const auto* found = std::ranges::find(names, name);
  if (found == std::end(names)) return false;
  *value = static_cast<Enum>(found - names);
  return true;
}

template <class T>
double load_as(const char* from) {
  T value;
  memcpy(&value, from, sizeof value);
  return static_cast<double>(value);
}

template <class T>
void store_as(double wide, char* to) {
  const T value = static_cast<T>(wide);
  memcpy(to, &value, sizeof value);
}

}  // namespace

bool parse_element(const std::string& name, Element* element) { return parse(kElements, name, element); }
bool parse_operation(const std::string& name, Operation* operation) { return parse(kOperations, name, operation); }

size_t size_of(Element element) {
  constexpr size_t kSizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return kSizes[static_cast<size_t>(element)];
}

bool is_integer(Element element) { return element <= Element::kU64; }

double load(Element element, const char* from) {
  switch (element) {
    case Element::kI8: return load_as<int8_t>(from);
    case Element::kU8: return load_as<uint8_t>(from);
    case Element::kI32: return load_as<int32_t>(from);
    case Element::kU32: return load_as<uint32_t>(from);
    case Element::kI64: return load_as<int64_t>(from);
    case Element::kU64: return load_as<uint64_t>(from);
    case Element::kF16: return load_as<_Float16>(from);
    case Element::kF32: return load_as<float>(from);
    case Element::kF64: return load_as<double>(from);
    case Element::kBf16: {
      uint16_t bits = 0;
      memcpy(&bits, from, sizeof bits);
      return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits) << 16));
    }
  }
  return 0;
}

void store(Element element, double value, char* to) {
  switch (element) {
    case Element::kI8: return store_as<int8_t>(value, to);
    case Element::kU8: return store_as<uint8_t>(value, to);
    case Element::kI32: return store_as<int32_t>(value, to);
    case Element::kU32: return store_as<uint32_t>(value, to);
    case Element::kI64: return store_as<int64_t>(value, to);
    case Element::kU64: return store_as<uint64_t>(value, to);
    case Element::kF16: return store_as<_Float16>(value, to);
    case Element::kF32: return store_as<float>(value, to);
    case Element::kF64: return store_as<double>(value, to);
    case Element::kBf16: {  // the values of the tests need no rounding
      const auto bits = static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16);
      memcpy(to, &bits, sizeof bits);
    }
  }
}

}  // namespace weft::lab
