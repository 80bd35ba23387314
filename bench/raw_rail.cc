#include "bench/raw_rail.h"

#include <utility>

namespace weft::bench {
namespace {

template <class T>
std::unique_ptr<T> boxed(T&& value) {
  return std::make_unique<T>(std::forward<T>(value));
}

}  // namespace

Result<std::unique_ptr<RawRail>> RawRail::open(const fabric::Library& library, fabric::Info info, bool one_sided,
                                               const WireBuffers& buffers) {
  std::unique_ptr<RawRail> rail(new RawRail(std::move(info)));
  TRY_VOID(rail->open(library, one_sided));
  if (one_sided || rail->domain_->needs_local_registration()) TRY_VOID(rail->register_buffers(buffers, one_sided));
  rail->receive_buffer_ = buffers.receive.data();
  return rail;
}

Status RawRail::open(const fabric::Library& library, bool one_sided) {
  TRY(fabric::Domain domain, fabric::Domain::open(library, info_));
  domain_ = boxed(std::move(domain));
  TRY(fabric::CompletionQueue queue, fabric::CompletionQueue::open(*domain_, one_sided ? kOneSidedEntries : 0));
  queue_ = boxed(std::move(queue));
  TRY(fabric::AddressVector addresses, fabric::AddressVector::open(*domain_));
  addresses_ = boxed(std::move(addresses));
  TRY(fabric::Endpoint endpoint, fabric::Endpoint::open(*domain_, *queue_, *addresses_));
  endpoint_ = boxed(std::move(endpoint));
  return {};
}

Status RawRail::register_buffers(const WireBuffers& buffers, bool one_sided) {
  const std::uint64_t access = one_sided ? FI_WRITE | FI_REMOTE_WRITE : FI_SEND | FI_RECV;
  for (const auto& [buffer, descriptor] :
       {std::pair(&buffers.send, &send_descriptor_), std::pair(&buffers.receive, &receive_descriptor_)}) {
    const fabric::MemoryRequest request{.data = buffer->data(), .size = buffer->size()};
    TRY(fabric::MemoryRegion region, fabric::MemoryRegion::open(*domain_, request, access));
    *descriptor = region.descriptor();
    regions_.push_back(std::move(region));
  }
  return {};
}

fabric::RemoteMemory RawRail::memory() const {
  if (regions_.empty()) return {};
  return {domain_->uses_virtual_addresses() ? reinterpret_cast<std::uint64_t>(receive_buffer_) : 0,
          regions_.back().key()};
}

Status RawRail::connect(std::span<const std::byte> address, fabric::RemoteMemory memory) {
  TRY(peer_, addresses_->insert(address));
  remote_ = memory;
  return {};
}

}  // namespace weft::bench
