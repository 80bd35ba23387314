#include "tests/support/link.h"

#include <array>
#include <chrono>
#include <string>

namespace weft::soak {
namespace {

/// Longer than any connection takes, also under a sanitizer on a busy machine.
constexpr std::chrono::seconds kPatience{60};

}  // namespace

Status check(const char* call, nccl::ncclResult_t result) {
  if (result == nccl::ncclSuccess) return {};
  return fail(Code::kSystem, std::string(call) + " says ncclResult_t " + std::to_string(result));
}

Result<std::unique_ptr<Link>> Link::make(bench::NetPlugin& plugin, int from, int to) {
  std::unique_ptr<Link> link(new Link(plugin));
  std::array<std::byte, nccl::kNetHandleBytes> handle{};
  void* listener = nullptr;
  TRY_VOID(check("listen", plugin.listen(to, handle.data(), &listener)));
  Status status;
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (status && (link->sender_ == nullptr || link->receiver_ == nullptr)) {
    if (link->sender_ == nullptr) status = check("connect", plugin.connect(from, handle.data(), &link->sender_));
    if (status && link->receiver_ == nullptr) status = check("accept", plugin.accept(listener, &link->receiver_));
    if (std::chrono::steady_clock::now() > end) status = fail(Code::kTimeout, "no connection in time");
  }
  TRY_VOID(check("closeListen", plugin.close_listen(listener)));
  TRY_VOID(status);
  return link;
}

Link::~Link() {
  // Errors have no one left to go to; the plugin logs its own.
  if (send_first && sender_ != nullptr) plugin_.close_send(sender_);
  if (receiver_ != nullptr) plugin_.close_recv(receiver_);
  if (!send_first && sender_ != nullptr) plugin_.close_send(sender_);
}

}  // namespace weft::soak
