#pragma once

#include <cstdint>

#include "tests/emulation/efa/shared_device.h"
#include "tests/emulation/efa/verbs.h"

namespace weft::emulation::efa {

struct AddressHandle {
  ibv_ah verbs;  // first: handed out
  uint16_t number;
  Gid gid;
};

}  // namespace weft::emulation::efa
