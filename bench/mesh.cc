#include "bench/mesh.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "bench/text.h"

namespace weft::bench {
namespace {

using Handle = std::array<std::byte, nccl::kNetHandleBytes>;

/// One connection on its way: it connects to a handle, or accepts on a listener.
class Attempt {
 public:
  /// `handle` is the peer's listener; the plugin may keep notes in it, so it stays in one place.
  static Attempt to(int peer, const Handle& handle) {
    Attempt attempt;
    attempt.peer_ = peer;
    attempt.handle_ = handle;
    return attempt;
  }

  static Result<Attempt> from(NetPlugin& plugin, int device, int peer) {
    Attempt attempt;
    attempt.peer_ = peer;
    const auto result = plugin.listen(device, attempt.handle_.data(), &attempt.listener_);
    if (result != nccl::ncclSuccess || attempt.listener_ == nullptr) {
      return fail(Code::kSystem, text("listen for rank %d failed: %s", peer, result_text(result)));
    }
    return attempt;
  }

  const Handle& handle() const { return handle_; }
  int peer() const { return peer_; }
  void* comm() const { return comm_; }
  bool is_done() const { return comm_ != nullptr; }
  std::string what() const { return text(listener_ != nullptr ? "accept from rank %d" : "connect to rank %d", peer_); }

  Status step(NetPlugin& plugin, int device) {
    const auto result =
        listener_ != nullptr ? plugin.accept(listener_, &comm_) : plugin.connect(device, handle_.data(), &comm_);
    if (result != nccl::ncclSuccess) {
      return fail(Code::kRemote, text("%s failed: %s", what().c_str(), result_text(result)));
    }
    return {};
  }

  /// A listener serves one connection and is closed when it has made it, as NCCL does.
  Status close_listener(NetPlugin& plugin) {
    if (listener_ == nullptr) return {};
    const auto result = plugin.close_listen(listener_);
    listener_ = nullptr;
    if (result == nccl::ncclSuccess) return {};
    return fail(Code::kSystem, text("closeListen for rank %d failed: %s", peer_, result_text(result)));
  }

 private:
  int peer_ = -1;
  Handle handle_{};
  void* listener_ = nullptr;
  void* comm_ = nullptr;
};

std::vector<std::unique_ptr<Pipe>> make_pipes(NetPlugin& plugin, Pipe::Direction direction, const MeshPlan& plan,
                                              const std::vector<Attempt>& attempts, int ranks) {
  std::vector<std::vector<void*>> comms(static_cast<std::size_t>(ranks));
  for (const Attempt& attempt : attempts) comms[static_cast<std::size_t>(attempt.peer())].push_back(attempt.comm());
  std::vector<std::unique_ptr<Pipe>> pipes(comms.size());
  for (int rank = 0; rank < ranks; ++rank) {
    auto& of_rank = comms[static_cast<std::size_t>(rank)];
    if (of_rank.empty()) continue;
    pipes[static_cast<std::size_t>(rank)] =
        std::make_unique<Pipe>(plugin, direction, rank, std::move(of_rank), plan.depth);
  }
  return pipes;
}

/// Hands every listener's handle to the rank that is to connect to it; the result has one attempt per channel of every
/// rank in send_to.
Result<std::vector<Attempt>> exchange_handles(const MeshPlan& plan, const std::vector<Attempt>& accepts,
                                              Rendezvous& rendezvous) {
  // Laid out by the rank that will connect, then by channel; zero where there is no connection.
  const auto channels = static_cast<std::size_t>(plan.channels);
  std::vector<Handle> offered(static_cast<std::size_t>(rendezvous.size()) * channels);
  for (std::size_t i = 0; i < accepts.size(); ++i) {
    offered[static_cast<std::size_t>(accepts[i].peer()) * channels + i % channels] = accepts[i].handle();
  }
  TRY(const std::vector<Bytes> all, rendezvous.all_gather(std::as_bytes(std::span(offered))));
  std::vector<Attempt> connects;
  for (const int peer : plan.send_to) {
    const Bytes& theirs = all[static_cast<std::size_t>(peer)];
    if (theirs.size() != offered.size() * sizeof(Handle)) {
      return fail(Code::kRemote, text("rank %d was started with another number of channels", peer));
    }
    for (std::size_t channel = 0; channel < channels; ++channel) {
      Handle handle;
      const std::size_t index = static_cast<std::size_t>(rendezvous.rank()) * channels + channel;
      std::memcpy(handle.data(), theirs.data() + index * sizeof(Handle), sizeof(Handle));
      connects.push_back(Attempt::to(peer, handle));
    }
  }
  return connects;
}

}  // namespace

Result<Mesh> connect_mesh(NetPlugin& plugin, const MeshPlan& plan, Rendezvous& rendezvous, Idle& idle) {
  std::vector<Attempt> accepts;
  for (const int peer : plan.receive_from) {
    for (int channel = 0; channel < plan.channels; ++channel) {
      TRY(Attempt attempt, Attempt::from(plugin, plan.device, peer));
      accepts.push_back(attempt);
    }
  }
  TRY(std::vector<Attempt> connects, exchange_handles(plan, accepts, rendezvous));
  for (const int peer : plan.send_to) idle.add_neighbour(peer);
  for (const int peer : plan.receive_from) idle.add_neighbour(peer);
  // All ranks start together, so that the time below is that of connecting, not of waiting for a late rank.
  TRY_VOID(rendezvous.barrier());
  const auto start = Clock::now();

  std::vector<Attempt*> waiting;
  for (Attempt& attempt : connects) waiting.push_back(&attempt);
  for (Attempt& attempt : accepts) waiting.push_back(&attempt);
  while (!waiting.empty()) {
    for (Attempt* attempt : waiting) TRY_VOID(attempt->step(plugin, plan.device));
    if (std::erase_if(waiting, [](const Attempt* attempt) { return attempt->is_done(); }) > 0) {
      idle.moved();
    } else if (!idle.keep_waiting()) {
      return std::unexpected(idle.error(waiting.front()->what()));
    }
  }

  Mesh mesh;
  mesh.connect_s = std::chrono::duration<double>(Clock::now() - start).count();
  for (Attempt& attempt : accepts) TRY_VOID(attempt.close_listener(plugin));
  mesh.send = make_pipes(plugin, Pipe::Direction::kSend, plan, connects, rendezvous.size());
  mesh.receive = make_pipes(plugin, Pipe::Direction::kReceive, plan, accepts, rendezvous.size());
  return mesh;
}

Status Mesh::close() {
  Status status;
  for (auto* side : {&send, &receive}) {
    for (const auto& pipe : *side) {
      if (pipe == nullptr) continue;
      if (auto closed = pipe->close(); !closed && status) status = std::move(closed);
    }
  }
  return status;
}

}  // namespace weft::bench
