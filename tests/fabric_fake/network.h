// What is behind the fake's NICs: every object, every message under way, every complaint. Internal to the fake; tests
// use FakeFabric.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/fabric_fake/fault_plan.h"
#include "tests/fabric_fake/flight.h"
#include "tests/fabric_fake/objects.h"
#include "tests/fabric_fake/pool.h"
#include "weft/spin_lock.h"

namespace weft::test {

/// All members are used with `lock` held, except where noted.
class Network {
 public:
  explicit Network(FakeOptions wanted);
  ~Network() = default;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  /// Not one of pthread's, so that a test that counts those counts Weft's only.
  SpinLock lock;
  const FakeOptions options;
  FaultPlan plan;
  std::vector<std::string> failures;
  std::uint64_t setup_calls = 0;
  std::uint64_t posts[kVerbs] = {};
  std::uint64_t next_key = 1;

  /// Makes an object and takes note of it.
  template <class T, class... Arguments>
  T& make(Arguments&&... arguments) {
    auto made = std::make_unique<T>(std::forward<Arguments>(arguments)...);
    T& object = *made;
    if (object.parent != nullptr) ++object.parent->dependents;
    objects_.push_back(std::move(made));
    return object;
  }
  FakeEndpoint& make_endpoint(FakeDomain& domain);
  int close(Object& object);
  const std::vector<std::unique_ptr<Object>>& objects() const noexcept { return objects_; }
  /// Null for numbers that were never given.
  FakeEndpoint* endpoint(std::size_t number) const noexcept;

  /// Takes note of something that Weft must not do. The test fails when the fake ends.
  void complain(std::string what) { failures.push_back(std::move(what)); }
  /// 0, or the error that the plan has for this set-up call.
  int setup(SetupCall call);

  // The data path, in wire.cc, matching.cc and one_sided.cc: allocates nothing.
  ssize_t send(FakeEndpoint& ep, const PostEvent& event, void* descriptor, void* context);
  ssize_t receive(FakeEndpoint& ep, const PostEvent& event, const PostedReceive& wanted, void* descriptor);
  ssize_t cancel(FakeEndpoint& ep, void* context);
  void on_read();
  /// Delivers one message, whether it is due or not. False if there is none that may move.
  bool step();
  std::size_t in_flight() const noexcept { return flights_.size(); }
  void kill(FakeEndpoint& ep, FakeEndpoint::State state);
  /// Forgets everything that `ep` has under way, and what waits there.
  void discard(FakeEndpoint& ep);
  /// True if an operation that has not completed uses the region.
  bool in_use(const FakeMr& mr);

 private:
  bool check_buffer(FakeEndpoint& ep, const PostEvent& event, void* descriptor, std::uint64_t access);
  ssize_t launch(FakeEndpoint& ep, const PostEvent& event, void* descriptor, void* context, const PostFault& fault);
  Flight* pick(std::uint64_t due) noexcept;
  void deliver(Flight& flight);
  void check_unchanged(const Flight& flight);
  void arrive(FakeEndpoint& to, Flight& flight);
  void execute(FakeEndpoint& to, Flight& flight);
  std::byte* target_of(FakeEndpoint& to, const Flight& flight) const noexcept;
  bool work(FakeEndpoint& to, const Flight& flight);
  void follow_failure(Flight& flight);
  void match(FakeEndpoint& to, PostedReceive& receive, Flight& flight);
  void end_send(Flight& flight, int error, int provider_error);
  void end_receive(FakeEndpoint& ep, PostedReceive& receive, const fi_cq_err_entry& entry);
  void mark(const FakeEndpoint& ep, void* context, const void* slot);
  void check_mark(const FakeEndpoint& ep, void* context, const void* slot);

  std::vector<std::unique_ptr<Object>> objects_;
  std::vector<FakeEndpoint*> endpoints_;
  std::vector<std::byte> rooms_;
  Pool<Flight> pool_;
  List<Flight> flights_;  ///< on their way, oldest first
  List<Flight> lost_;     ///< will never end
  std::uint64_t reads_ = 0;
};

/// Holds the lock, and notices two threads that are inside one completion queue and its endpoints at once, which
/// FI_THREAD_COMPLETION forbids.
class Entry {
 public:
  Entry(Network& network, FakeCq* cq);
  ~Entry();
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

 private:
  Network& network_;
  FakeCq* cq_;
};

}  // namespace weft::test
