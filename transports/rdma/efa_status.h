// What failed completions mean for a connection, and in words for its user.
#pragma once

#include "transports/fabric/operation.h"

namespace weft::rdma {

/// Who is to blame for a failed operation.
enum class Blame {
  kPath,     ///< this way to the peer does not work: take another
  kRetry,    ///< nobody for good: the same again
  kMessage,  ///< the operation itself: no other way would do better
};

struct Judgement {
  Blame blame;
  const char* meaning;  ///< cause and next step; null where the provider's own words must do
};

/// `is_efa`: the provider's own numbers are EFA's. Source: the completion statuses of the EFA device interface
/// (efa_io_defs.h of rdma-core) and libfabric's efa provider (efa_errno.h).
Judgement judge(const fabric::CompletionError& error, bool is_efa) noexcept;

}  // namespace weft::rdma
