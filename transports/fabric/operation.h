// What every posted operation carries with it, and what comes back when it ends.
#pragma once

#include <rdma/fi_eq.h>

#include <cstddef>
#include <cstdint>

namespace weft::fabric {

/// Who must be told when an operation ends. Zero is the control channel; the others are the transports' own.
enum class OperationKind : std::uint8_t {
  kControl,
  kSend,     ///< data on its way out
  kReceive,  ///< data on its way in (two-sided), or permission for it on its way out (RDMA)
  kInquiry,  ///< a sender finding out what has become of a message
  kProbe,    ///< a path being tried
};

/// Handed to the provider with each post as its context. The provider may use the first part as scratch space until
/// the operation completes (FI_CONTEXT, FI_CONTEXT2), so an operation stays where it is until then.
struct Operation {
  fi_context2 scratch;
  OperationKind kind;
  std::uint8_t index = 0;  ///< which of the owner's operations: the sub-receive, the stripe
  void* owner = nullptr;   ///< the object of that kind

  Operation(OperationKind kind, std::uint8_t index, void* owner) noexcept : kind(kind), index(index), owner(owner) {}
};
static_assert(offsetof(Operation, scratch) == 0, "the provider gets the operation's address as its context");

/// One successful completion: op_context is the Operation, len the bytes received (receives only).
using Completion = fi_cq_tagged_entry;

/// One failed completion. `operation` is null where the provider does not say whose it was.
struct CompletionError {
  Operation* operation = nullptr;
  int error = 0;             ///< positive FI_E... number
  int provider_error = 0;    ///< the provider's own number
  std::size_t length = 0;    ///< bytes placed
  std::size_t overflow = 0;  ///< bytes that did not fit (FI_ETRUNC), where the provider knows
  char text[128] = {};       ///< the provider's words
};

}  // namespace weft::fabric
