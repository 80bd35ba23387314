#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/emulation/efa/context.h"
#include "tests/emulation/efa/verbs.h"

namespace weft::emulation::efa {

struct ProtectionDomain {
  ibv_pd verbs;  // first: handed out
  uint32_t number;
};

struct MemoryRegion {
  ibv_mr verbs;             // first: handed out
  void* mapping = nullptr;  // of a dma-buf
  size_t mapping_size = 0;
};

}  // namespace weft::emulation::efa
