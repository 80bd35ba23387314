#include "bench/plugin_wire.h"

namespace weft::bench {

Result<std::unique_ptr<PluginWire>> PluginWire::create(Contender& contender, int peer, const WireBuffers& buffers,
                                                       int sub_receives) {
  Pipe& send = *contender.mesh.send[static_cast<std::size_t>(peer)];
  Pipe& receive = *contender.mesh.receive[static_cast<std::size_t>(peer)];
  std::unique_ptr<PluginWire> wire(new PluginWire(send, receive, buffers, sub_receives));
  TRY(wire->send_region_, send.add_region(buffers.send.data(), buffers.send.size()));
  TRY(wire->receive_region_, receive.add_region(buffers.receive.data(), buffers.receive.size()));
  return wire;
}

PostStatus PluginWire::post_send(std::size_t bytes) {
  // Comes back here with kAgain until the last part is posted.
  std::byte* const message = buffers_->send_slot(sends_posted_);
  for (; parts_posted_ < sub_receives_; ++parts_posted_) {
    std::byte* const data = message + static_cast<std::size_t>(parts_posted_) * bytes;
    const PostStatus status = send_->post(send_region_, data, bytes, parts_posted_);
    if (status != PostStatus::kPosted) return status;
  }
  parts_posted_ = 0;
  ++sends_posted_;
  return PostStatus::kPosted;
}

}  // namespace weft::bench
