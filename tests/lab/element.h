#pragma once

#include <cstddef>
#include <string>

namespace weft::lab {

// The types of NCCL's that are tested, in its order.
enum class Element { kI8, kU8, kI32, kU32, kI64, kU64, kF16, kF32, kF64, kBf16 };
enum class Operation { kSum, kProduct, kMax, kMin, kAverage };

// By the names of nccl-tests: int8, uint8, ..., half, float, double, bfloat16; sum, prod, max, min, avg.
bool parse_element(const std::string& name, Element* element);
bool parse_operation(const std::string& name, Operation* operation);

size_t size_of(Element element);
bool is_integer(Element element);
double load(Element element, const char* from);
void store(Element element, double value, char* to);

}  // namespace weft::lab
