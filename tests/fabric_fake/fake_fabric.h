// A libfabric for unit tests: a network inside one process that does what the test tells it.
//
// Weft's own code runs on it unchanged, since libfabric's calls are inline calls through an object's tables and the few
// that are linked by name come in a fabric::Functions. It behaves as libfabric's manual pages say, and it complains:
// about operations whose buffer or context changes before the completion, posts without a registration where one is
// needed, overrun completion queues, regions closed while in use, two threads inside one queue, double closes and
// objects that were never closed. Every complaint fails the test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tests/fabric_fake/fake_address.h"
#include "tests/fabric_fake/fake_options.h"
#include "tests/fabric_fake/fault_plan.h"
#include "transports/fabric/library.h"

namespace weft::test {

class Network;

/// A live memory registration.
struct Registration {
  const void* data;
  std::size_t size;
  std::uint64_t access;
  bool is_cuda;
  int cuda_device;
  int dmabuf_fd;  ///< -1: none
  std::uint64_t dmabuf_offset;
  std::uint64_t key;
};

/// How an endpoint's process dies.
enum class Death : std::uint8_t {
  kRefusing,  ///< sends to it end with FI_ECONNREFUSED, those that wait there with FI_ECONNRESET
  kSilent,    ///< sends to it never end
};

/// One network. Only one may exist at a time, since libfabric's functions take no such argument. Thread safe but for
/// faults(); allocates nothing when operations are posted, delivered and read.
class FakeFabric {
 public:
  explicit FakeFabric(FakeOptions options = {});
  /// Fails the running test for each complaint not taken, and for objects that are still open.
  ~FakeFabric();
  FakeFabric(const FakeFabric&) = delete;
  FakeFabric& operator=(const FakeFabric&) = delete;

  static fabric::Functions functions();
  const fabric::Library& library() const noexcept { return library_; }

  /// See FaultPlan for when it may be changed.
  FaultPlan& faults() noexcept;

  /// Delivers the next message, due or not. False if none may move.
  bool step();
  /// Delivers all that may move; returns how many.
  std::size_t run_until_idle();
  /// Messages under way, held ones included; not those that will never arrive.
  std::size_t in_flight() const;

  /// Endpoints are numbered from 1 as they are made. The number behind an address; 0 if there is none.
  static std::size_t endpoint_of(std::span<const std::byte> address);
  void kill(std::size_t endpoint, Death death);
  std::size_t posted_receives(std::size_t endpoint) const;
  /// Messages that have arrived and wait for a receive.
  std::size_t unexpected_messages(std::size_t endpoint) const;

  std::uint64_t setup_calls() const;
  /// Posts of a verb, failed ones included.
  std::uint64_t posts(Verb verb) const;
  std::size_t open_objects() const;
  /// Closes everything that is open, for tests of leaks; returns how many there were.
  std::size_t close_leaked();
  std::vector<Registration> registrations() const;

  /// Hands over what would fail the test, objects that are open not included.
  std::vector<std::string> take_complaints();

 private:
  std::unique_ptr<Network> network_;
  fabric::Library library_;
};

/// Runs `body` on a fresh fake whose first set-up call fails, then on one whose second fails, and so on until it gets
/// through without a fault. `body` returns whether it succeeded; it must not when a call of it failed, and must leave
/// nothing open either way. `calls` limits which set-up calls fail (or-ed bits of SetupCall). Returns the number of
/// faults that were injected.
std::size_t fail_each_setup_call(const FakeOptions& options, const std::function<bool(FakeFabric&)>& body,
                                 unsigned calls = kAnySetupCall);

}  // namespace weft::test
