#include "bench/plugin_wire.h"

namespace weft::bench {

Result<std::unique_ptr<PluginWire>> PluginWire::create(Contender& contender, int peer, std::size_t bytes,
                                                       int sub_receives) {
  Pipe& send = *contender.mesh.send[static_cast<std::size_t>(peer)];
  Pipe& receive = *contender.mesh.receive[static_cast<std::size_t>(peer)];
  TRY(WireBuffers buffers, WireBuffers::allocate(bytes * static_cast<std::size_t>(sub_receives)));
  std::unique_ptr<PluginWire> wire(new PluginWire(send, receive, std::move(buffers), sub_receives));
  TRY(wire->send_region_, send.add_region(wire->buffers_.send.data(), wire->buffers_.send.size()));
  TRY(wire->receive_region_, receive.add_region(wire->buffers_.receive.data(), wire->buffers_.receive.size()));
  return wire;
}

PostStatus PluginWire::post_send(std::size_t bytes) {
  const auto parts = static_cast<std::size_t>(sub_receives_);
  // Comes back here with kAgain until the last part is posted.
  while (true) {
    const std::size_t message = parts_posted_ / parts;
    const std::size_t part = parts_posted_ % parts;
    std::byte* data = buffers_.send_slot(message) + part * bytes;
    const PostStatus status = send_->post(send_region_, data, bytes, static_cast<int>(part));
    if (status != PostStatus::kPosted) return status;
    ++parts_posted_;
    if (part + 1 == parts) return PostStatus::kPosted;
  }
}

}  // namespace weft::bench
