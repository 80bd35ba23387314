// Progress: reads the device's completion queue and tells every finished operation's owner. It happens inside the
// calls that NCCL makes; Weft has no thread.
#pragma once

#include "transports/connection/device.h"
#include "transports/fabric/operation.h"
#include "transports/sendrecv/recv_comm.h"
#include "transports/sendrecv/send_comm.h"

namespace weft::sendrecv {

/// Completions read at once. Larger batches cost stack and no longer save calls (bench/isend_cost.cc).
inline constexpr std::size_t kCompletionBatch = 16;

/// Failed completions handed out in one call: all that a communicator can have in flight.
inline constexpr std::size_t kErrorBatch = kSendRequests;

/// Fetches and hands out failed completions.
[[gnu::cold]] void progress_errors(Device& device, ssize_t rc) noexcept;

inline void complete(Device& device, const fabric::Completion& completion) noexcept {
  auto& operation = *static_cast<fabric::Operation*>(completion.op_context);
  switch (operation.kind) {
    case fabric::OperationKind::kSend: SendComm::complete(*static_cast<SendRequest*>(operation.owner)); return;
    case fabric::OperationKind::kReceive:
      RecvComm::complete(*static_cast<RecvRequest*>(operation.owner), operation.index, completion.len);
      return;
    default: device.control().on_completion(operation, completion.len); return;
  }
}

/// Wants the device's lock.
inline void progress(Device& device) noexcept {
  fabric::Completion batch[kCompletionBatch];
  const ssize_t count = device.rail().completions().read(batch);
  for (ssize_t i = 0; i < count; ++i) complete(device, batch[i]);
  if (count < 0 && count != -FI_EAGAIN) [[unlikely]]
    progress_errors(device, count);
  device.control().catch_up();
}

}  // namespace weft::sendrecv
