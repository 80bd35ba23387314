#include "transports/rdma/adapter.h"

#include <algorithm>
#include <cstring>

#include "transports/rdma/recv_comm.h"
#include "transports/rdma/send_comm.h"
#include "weft/log.h"

namespace weft::rdma {
namespace {

static_assert(sizeof(Block) >= kScratchBytes);

/// Failed completions handed out in one call.
constexpr std::size_t kErrorBatch = 64;

}  // namespace

Adapter::Adapter(Device& device)
    : device_(device),
      is_efa_(device.rail().info().provider() == "efa"),
      virtual_addresses_(device.rail().domain().uses_virtual_addresses()),
      blocks_(device.domains()),
      receivers_(kMaxComms, nullptr) {
  lanes_.reserve(device.rails().size());
  for (const auto& rail : device.rails()) lanes_.emplace_back(*rail);
}

Result<std::unique_ptr<Adapter>> Adapter::open(Device& device) {
  std::unique_ptr<Adapter> adapter(new Adapter(device));
  TRY(adapter->scratch_, adapter->blocks_.take());
  for (const auto& region : adapter->scratch_.slab->rails.regions) {
    if (region.key() > UINT32_MAX) {
      return fail(Code::kUsage, "provider " + device.rail().info().provider() +
                                    " has registration keys above 32 bits, which a clear-to-send has no room for");
    }
  }
  return adapter;
}

Card Adapter::card(const BlockRef& block) const {
  Card card{};
  card.rails = static_cast<std::uint8_t>(lanes_.size());
  card.block = block.remote_address(virtual_addresses_);
  card.scratch = scratch_address();
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    // A rail that is open can say its address: it has done so for the device's own.
    const auto address = lanes_[i].endpoint().address();
    if (address && address->size() <= kMaxAddressBytes) {
      card.address_size = static_cast<std::uint8_t>(address->size());
      std::memcpy(card.rail[i].address, address->data(), address->size());
    }
    card.rail[i].block_key = block.slab->rails.keys[i];
    card.rail[i].scratch_key = scratch_keys()[i];
  }
  return card;
}

Result<Paths*> Adapter::paths_to(Peer& peer, const Card& card) {
  for (const auto& paths : paths_) {
    if (&paths->peer() != &peer || paths->up() == 0) continue;
    paths->retain();
    return paths.get();
  }
  device_.peers().retain(peer);
  TRY(auto paths, Paths::open(*this, &peer, card));
  paths->retain();
  paths_.push_back(std::move(paths));
  return paths_.back().get();
}

bool Adapter::shares(const Paths& paths, const Path& path) const noexcept {
  return std::ranges::any_of(
      paths_, [&](const auto& other) { return other.get() != &paths && other->uses(path.local, path.address); });
}

void Adapter::sweep() noexcept {
  for (std::size_t i = 0; i < paths_.size();) {
    if (!paths_[i]->is_idle()) {
      ++i;
      continue;
    }
    const auto gone = std::move(paths_[i]);
    paths_.erase(paths_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

Result<std::uint16_t> Adapter::add(RecvComm& comm) {
  for (std::uint32_t tried = 0; tried < kMaxComms; ++tried) {
    const std::uint16_t number = next_number_;
    next_number_ = static_cast<std::uint16_t>((next_number_ + 1) % kMaxComms);
    if (receivers_[number] != nullptr) continue;
    receivers_[number] = &comm;
    return number;
  }
  return fail(Code::kUsage,
              "all " + std::to_string(kMaxComms) + " receiving communicators of " + device_.name() + " are in use");
}

void Adapter::write(RecvRequest& request) noexcept { static_cast<RecvComm*>(request.comm)->write_held(request); }

void Adapter::forget_held(const RecvComm& comm) noexcept {
  if (held_ != nullptr && held_->comm == &comm) held_ = nullptr;
}

void Adapter::progress() noexcept {
  write_held();
  for (Lane& lane : lanes_) {
    fabric::Completion batch[kCompletionBatch];
    const ssize_t count = lane.rail().completions().read(batch);
    for (ssize_t i = 0; i < count; ++i) complete(lane, batch[i]);
    if (count < 0) [[unlikely]]
      read_errors(lane, count);
  }
  device_.control().catch_up();
}

void Adapter::complete(Lane& lane, const fabric::Completion& completion) noexcept {
  if ((completion.flags & FI_REMOTE_WRITE) != 0) {
    arrived(static_cast<std::uint32_t>(completion.data), completion.len);
    return;
  }
  auto& operation = *static_cast<fabric::Operation*>(completion.op_context);
  switch (operation.kind) {
    case fabric::OperationKind::kSend: SendComm::complete(*static_cast<SendRequest*>(operation.owner)); break;
    case fabric::OperationKind::kReceive: RecvComm::complete(*static_cast<RecvRequest*>(operation.owner)); break;
    case fabric::OperationKind::kInquiry: static_cast<SendComm*>(operation.owner)->inquiry_done(); break;
    case fabric::OperationKind::kProbe: static_cast<Paths*>(operation.owner)->probe_done(operation.index); break;
    case fabric::OperationKind::kControl: device_.control().on_completion(operation, completion.len); return;
  }
  lane.give(operation);
}

void Adapter::arrived(std::uint32_t immediate, std::size_t bytes) noexcept {
  RecvComm* const comm = receivers_[Immediate::from(immediate).comm];
  if (comm == nullptr || !comm->arrived(immediate, bytes)) [[unlikely]]
    count_stray();
}

void Adapter::read_errors(Lane& lane, ssize_t rc) noexcept {
  if (rc != -FI_EAVAIL) {
    device_.queue_failed(static_cast<int>(-rc));
    return;
  }
  fabric::CompletionError error;
  for (std::size_t i = 0; i < kErrorBatch && lane.rail().completions().read_error(error); ++i) {
    if (error.operation == nullptr) {
      device_.unowned_error(error);
      continue;
    }
    fabric::Operation& operation = *error.operation;
    const std::uint8_t path = operation.index;
    switch (operation.kind) {
      case fabric::OperationKind::kSend:
        SendComm::failed(*static_cast<SendRequest*>(operation.owner), path, error);
        break;
      case fabric::OperationKind::kReceive:
        RecvComm::failed(*static_cast<RecvRequest*>(operation.owner), path, error);
        break;
      case fabric::OperationKind::kInquiry: static_cast<SendComm*>(operation.owner)->inquiry_failed(path, error); break;
      case fabric::OperationKind::kProbe: static_cast<Paths*>(operation.owner)->probe_failed(path, error); break;
      case fabric::OperationKind::kControl: device_.control().on_error(error); continue;
    }
    lane.give(operation);
  }
}

}  // namespace weft::rdma
