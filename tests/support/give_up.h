// For test fixtures whose set-up cannot go on: the test fails, and ends by an exception.
#pragma once

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "weft/result.h"

namespace weft::test {

[[noreturn]] inline void give_up(const std::string& what) {
  ADD_FAILURE() << what;
  throw std::runtime_error(what);
}

template <class T>
T value_or_give_up(Result<T> result) {
  if (!result) give_up(result.error().what);
  return std::move(*result);
}

}  // namespace weft::test
