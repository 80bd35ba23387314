#pragma once

#include <cstddef>
#include <vector>

#include "tests/lab/element.h"

namespace weft::lab {

// The values of one rank's buffer, or of a reduction of several: they repeat after kPeriod elements, a prime, so that
// data in a wrong place is seen. Small integers, so that sums are exact in every type and every order. salt changes
// from run to run: what an earlier run left behind is wrong.
class Pattern {
 public:
  static constexpr size_t kPeriod = 1021;

  static Pattern of_rank(Element element, Operation operation, int rank, unsigned salt);
  static Pattern of_reduction(Element element, Operation operation, int ranks, unsigned salt);

  // The elements from begin on.
  void fill(char* to, size_t begin, size_t count) const;
  // How many elements are wrong.
  size_t count_wrong(const char* from, size_t begin, size_t count) const;

 private:
  explicit Pattern(Element element) : element_(element), period_(kPeriod * size_of(element)) {}

  Element element_;
  double tolerance_ = 0;  // relative; 0: every bit counts
  std::vector<char> period_;
};

}  // namespace weft::lab
