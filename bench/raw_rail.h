// One NIC of a raw wire: an endpoint with a queue of its own, and the wire's buffers registered with it.
#pragma once

#include <rdma/fi_tagged.h>

#include <memory>
#include <span>
#include <vector>

#include "bench/wire_buffers.h"
#include "transports/fabric/address_vector.h"
#include "transports/fabric/completion_queue.h"
#include "transports/fabric/domain.h"
#include "transports/fabric/endpoint.h"
#include "transports/fabric/info.h"
#include "transports/fabric/library.h"
#include "transports/fabric/memory_region.h"
#include "weft/result.h"

namespace weft::bench {

class RawRail {
 public:
  /// `library` and `buffers` must outlive the rail.
  static Result<std::unique_ptr<RawRail>> open(const fabric::Library& library, fabric::Info info, bool one_sided,
                                               const WireBuffers& buffers);

  /// What the other rank must know to connect().
  Result<std::vector<std::byte>> address() const { return endpoint_->address(); }
  fabric::RemoteMemory memory() const;
  Status connect(std::span<const std::byte> address, fabric::RemoteMemory memory);

  // The calls of libfabric, with their results. The context is scratch space of the provider until the call completes.
  ssize_t write(const std::byte* data, std::size_t bytes, std::size_t remote_offset, std::uint64_t immediate,
                fi_context2* context) const noexcept {
    return fi_writedata(endpoint_->get(), data, bytes, send_descriptor_, immediate, peer_,
                        remote_.address + remote_offset, remote_.key, context);
  }
  ssize_t send(const std::byte* data, std::size_t bytes, fi_context2* context) const noexcept {
    return fi_tsend(endpoint_->get(), data, bytes, send_descriptor_, peer_, kTag, context);
  }
  ssize_t receive(std::byte* data, std::size_t bytes, fi_context2* context) const noexcept {
    return fi_trecv(endpoint_->get(), data, bytes, receive_descriptor_, FI_ADDR_UNSPEC, kTag, 0, context);
  }
  ssize_t read(std::span<fi_cq_tagged_entry> entries) const noexcept {
    return fi_cq_read(queue_->get(), entries.data(), entries.size());
  }

  fabric::CompletionQueue& queue() const { return *queue_; }
  const fabric::Info& info() const { return info_; }
  /// As Domain::error().
  Error error(const char* call, ssize_t rc) const { return domain_->error(call, static_cast<int>(rc)); }

 private:
  static constexpr std::uint64_t kTag = 1;
  /// Nothing stops a one-sided sender: a stream of messages must fit.
  static constexpr std::size_t kOneSidedEntries = 16384;

  explicit RawRail(fabric::Info info) : info_(std::move(info)) {}

  Status open(const fabric::Library& library, bool one_sided);
  Status register_buffers(const WireBuffers& buffers, bool one_sided);

  // In the order in which they are made; they go in the opposite one.
  fabric::Info info_;
  std::unique_ptr<fabric::Domain> domain_;
  std::unique_ptr<fabric::CompletionQueue> queue_;
  std::unique_ptr<fabric::AddressVector> addresses_;
  std::unique_ptr<fabric::Endpoint> endpoint_;
  std::vector<fabric::MemoryRegion> regions_;  ///< of what is sent, and of what is received; or none

  void* send_descriptor_ = nullptr;
  void* receive_descriptor_ = nullptr;
  std::byte* receive_buffer_ = nullptr;
  fi_addr_t peer_ = FI_ADDR_UNSPEC;
  fabric::RemoteMemory remote_{};  ///< the peer's receive buffer, one-sided only
};

}  // namespace weft::bench
