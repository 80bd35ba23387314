// The objects behind the fake's fids. Each begins with libfabric's own struct, whose tables lead back here.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "tests/fabric_fake/fake_options.h"
#include "tests/fabric_fake/flight.h"
#include "tests/fabric_fake/pool.h"

namespace weft::test {

class Network;

/// What all of them have in common: who made them, who still needs them. Kept, as an empty shell, after the close until
/// the fake itself ends, so that a second close is noticed.
struct Object {
  Network& network;
  const char* kind;
  Object* parent;              ///< null for a fabric
  std::size_t dependents = 0;  ///< open objects made from this one or bound to it
  bool closed = false;

  Object(Network& owner, const char* kind, Object* parent) : network(owner), kind(kind), parent(parent) {}
  virtual ~Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  /// Lets go of what it holds. Called once, with the lock held, before the object counts as closed.
  virtual void on_close() {}
};

struct FakeFabricObject final : fid_fabric, Object {
  explicit FakeFabricObject(Network& owner);
};

struct FakeDomain final : fid_domain, Object {
  const FakeNic& nic;
  FakeDomain(FakeFabricObject& fabric, const FakeNic& nic);
};

struct FakeMr final : fid_mr, Object {
  const void* data;
  std::size_t size;
  std::uint64_t access;
  fi_hmem_iface iface;
  int device;
  int dmabuf_fd = -1;
  std::uint64_t dmabuf_offset = 0;
  FakeMr(FakeDomain& domain, const fi_mr_attr& attributes, std::uint64_t flags, std::uint64_t key);
  void on_close() override;
  bool covers(const void* pointer, std::size_t bytes) const noexcept;
};

struct FakeAv final : fid_av, Object {
  struct Entry {
    std::size_t endpoint;  ///< its number
    unsigned uses;         ///< inserts less removes; the same address gets the same entry, as in libfabric's ofi_av
  };
  std::vector<Entry> entries;  ///< an fi_addr_t is an index
  explicit FakeAv(FakeDomain& domain);
  /// The number of the endpoint behind an address; 0 for one that is not in the table.
  std::size_t endpoint_of(fi_addr_t address) const noexcept;
};

struct FakeCq final : fid_cq, Object {
  std::vector<fi_cq_err_entry> ring;
  std::size_t head = 0;
  std::size_t count = 0;
  std::size_t entry_bytes;           ///< of the format that was asked for
  std::atomic<bool> entered{false};  ///< a thread is inside this queue or an endpoint bound to it
  FakeCq(FakeDomain& domain, std::size_t entries, fi_cq_format format);
  void on_close() override;
  /// Success where entry.err is 0. An overrun is a failure of the test.
  void push(const fi_cq_err_entry& entry);
};

struct FakeEndpoint final : fid_ep, Object {
  enum class State : std::uint8_t { kFresh, kEnabled, kRefusing, kSilent };

  const FakeNic& nic;
  const std::size_t number;
  State state = State::kFresh;
  FakeAv* av = nullptr;
  FakeCq* cq = nullptr;
  std::size_t sends = 0;  ///< not completed
  std::unique_ptr<Pool<PostedReceive>> receives;
  // First the untagged ones, then the tagged ones.
  List<PostedReceive> posted[2];
  List<Flight> unexpected[2];  ///< messages that arrived before their receive

  FakeEndpoint(FakeDomain& domain, std::size_t number);
  void on_close() override;
};

/// The object behind a fid whose libfabric type is Raw.
template <class T, class Raw>
T& object_of(fid* raw) noexcept {
  return static_cast<T&>(*reinterpret_cast<Raw*>(raw));
}

/// Fills a slot of an ops table with a function that does nothing but return -FI_ENOSYS, as libfabric's fi_no_* do.
template <class R, class... A>
void unsupported(R (*&slot)(A...)) noexcept {
  slot = [](A...) -> R { return static_cast<R>(-FI_ENOSYS); };
}

}  // namespace weft::test
