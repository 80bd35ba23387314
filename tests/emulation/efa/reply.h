#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace weft::emulation::efa {

// Answers a query whose caller may know a shorter or longer structure.
template <class T>
int reply(T* out, const T& answer, uint32_t caller_size) {
  if (caller_size < sizeof(uint64_t)) return EINVAL;
  memset(static_cast<void*>(out), 0, caller_size);
  memcpy(static_cast<void*>(out), &answer, std::min<size_t>(caller_size, sizeof answer));
  return 0;
}

}  // namespace weft::emulation::efa
