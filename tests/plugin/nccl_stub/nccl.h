// Stands in for NCCL's public header, which is made when NCCL is built and wants the CUDA toolkit: the types by which
// NCCL's plugin headers name it. Only nccl_headers_test includes it.
#pragma once

enum ncclResult_t : int {};
enum ncclDataType_t : int {};
enum ncclRedOp_t : int {};
