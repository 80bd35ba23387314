#pragma once

// rdma-core's headers, whose macros would rename what the emulator defines.
#include <infiniband/efadv.h>
#include <infiniband/verbs.h>

#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova
#undef ibv_get_device_list

// An entry point of libibverbs or libefa.
#define WEFT_VERBS extern "C" __attribute__((visibility("default")))
