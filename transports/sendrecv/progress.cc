#include "transports/sendrecv/progress.h"

#include <bit>

#include "weft/log.h"

namespace weft::sendrecv {
namespace {

void complete_error(Device& device, const fabric::CompletionError& error) noexcept {
  switch (error.operation->kind) {
    case fabric::OperationKind::kSend:
      SendComm::complete_error(*static_cast<SendRequest*>(error.operation->owner), error);
      return;
    case fabric::OperationKind::kReceive:
      RecvComm::complete_error(*static_cast<RecvRequest*>(error.operation->owner), error);
      return;
    default: device.control().on_error(error); return;
  }
}

}  // namespace

void progress_errors(Device& device, ssize_t rc) noexcept {
  if (rc != -FI_EAVAIL) {
    device.queue_failed(static_cast<int>(-rc));
    return;
  }
  // Bounded: whoever ends one failing operation may post the next.
  fabric::CompletionError error;
  for (std::size_t i = 0; i < kErrorBatch && device.rail().completions().read_error(error); ++i) {
    if (error.operation != nullptr) {
      complete_error(device, error);
    } else {
      device.unowned_error(error);
    }
  }
}

}  // namespace weft::sendrecv
