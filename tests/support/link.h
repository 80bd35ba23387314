// One connection through the plugin between two of its devices, both ends in this process.
#pragma once

#include <memory>

#include "bench/net_plugin.h"
#include "weft/result.h"

namespace weft::soak {

/// Closes its ends, the sending one first where `send_first` says so.
class Link {
 public:
  static Result<std::unique_ptr<Link>> make(bench::NetPlugin& plugin, int from, int to);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  bench::NetPlugin& plugin() const noexcept { return plugin_; }
  void* sender() const noexcept { return sender_; }
  void* receiver() const noexcept { return receiver_; }

  bool send_first = false;

 private:
  explicit Link(bench::NetPlugin& plugin) : plugin_(plugin) {}

  bench::NetPlugin& plugin_;
  void* sender_ = nullptr;
  void* receiver_ = nullptr;
};

/// Fails unless the plugin's answer is success; `call` names what was called.
Status check(const char* call, nccl::ncclResult_t result);

}  // namespace weft::soak
