// What goes wrong on the fake fabric, and when: deterministic for a seed.
#pragma once

#include <rdma/fi_errno.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "tests/fabric_fake/random.h"

namespace weft::test {

/// Which events of a numbered sequence are meant. Numbers start at 1.
struct Selector {
  std::uint64_t first = 1;
  std::uint64_t count = 0;   ///< how many numbers from `first` on; 0: none
  std::uint64_t stride = 1;  ///< only each stride-th of these
  double probability = 1;    ///< of each of these

  static constexpr std::uint64_t kForever = ~std::uint64_t{0};
  static Selector never() { return {}; }
  static Selector always() { return {.count = kForever}; }
  static Selector nth(std::uint64_t n) { return {.first = n, .count = 1}; }
  /// `count` of them from the n-th on.
  static Selector from(std::uint64_t n, std::uint64_t count = kForever) { return {.first = n, .count = count}; }
  /// The k-th, 2k-th, ...
  static Selector every(std::uint64_t k) { return {.first = k, .count = kForever, .stride = k}; }
  static Selector randomly(double probability) { return {.count = kForever, .probability = probability}; }

  bool hits(std::uint64_t number, Random& random) const noexcept {
    if (number < first || number - first >= count || (number - first) % stride != 0) return false;
    return probability >= 1 || random.chance(probability);
  }
};

enum class Verb : std::uint8_t { kSend, kReceive, kTaggedSend, kTaggedReceive, kWrite, kWriteData, kRead };
inline constexpr std::size_t kVerbs = 7;
using Verbs = unsigned;  ///< or-ed bits
constexpr Verbs bit(Verb verb) noexcept { return 1U << static_cast<unsigned>(verb); }
inline constexpr Verbs kSends = bit(Verb::kSend) | bit(Verb::kTaggedSend);
inline constexpr Verbs kReceives = bit(Verb::kReceive) | bit(Verb::kTaggedReceive);
inline constexpr Verbs kWrites = bit(Verb::kWrite) | bit(Verb::kWriteData);
inline constexpr Verbs kOneSided = kWrites | bit(Verb::kRead);
inline constexpr Verbs kAnyVerb = kSends | kReceives | kOneSided;

/// One post, as rules see it. Endpoints are numbered from 1 in the order in which they were made.
struct PostEvent {
  Verb verb;
  std::size_t from;  ///< the endpoint that posts
  std::size_t to;    ///< the peer of a send; 0 for receives and for sends to an address without an endpoint
  const void* data;
  std::size_t size;
  std::uint64_t tag;
  // Of one-sided operations.
  std::uint64_t remote = 0;  ///< where in the peer's memory
  std::uint64_t key = 0;     ///< of its registration
  std::uint32_t immediate = 0;
  bool late = false;  ///< it has been reported failed, and is on its way all the same (PostFault::fail_too_early)
};
/// Called with the fake's lock held: must not call the fake or Weft.
using PostFilter = std::function<bool(const PostEvent&)>;

/// What becomes of a post instead of success.
struct PostFault {
  enum class Kind : std::uint8_t {
    kNone,
    kAgain,   ///< -FI_EAGAIN
    kReject,  ///< the post returns the error
    kError,   ///< the post succeeds and ends with an error completion; nothing is delivered
    kVanish,  ///< the post succeeds, nothing is delivered and no completion ever comes
  };
  Kind kind = Kind::kNone;
  int error = 0;           ///< positive FI_E... number
  int provider_error = 0;  ///< of the error completion
  bool anonymous = false;  ///< the error completion does not say whose it is (null op_context)
  /// Whether a one-sided operation that is reported failed does its work all the same.
  enum class Work : std::uint8_t { kNone, kBefore, kAfter } work = Work::kNone;

  static PostFault again() { return {.kind = Kind::kAgain}; }
  static PostFault reject(int error) { return {.kind = Kind::kReject, .error = error}; }
  static PostFault fail(int error, int provider_error = 0, bool anonymous = false) {
    return {Kind::kError, error, provider_error, anonymous};
  }
  /// What the initiator takes for failed has been done: the acknowledgement was lost.
  static PostFault fail_falsely(int error, int provider_error = 0) {
    return {Kind::kError, error, provider_error, false, Work::kBefore};
  }
  /// It will be done, though it has been reported failed. The fake delivers it like any other, see PostEvent::late.
  static PostFault fail_too_early(int error, int provider_error = 0) {
    return {Kind::kError, error, provider_error, false, Work::kAfter};
  }
  static PostFault vanish() { return {.kind = Kind::kVanish}; }
};

/// The posts that pass `verbs` and `where` are numbered; those that `when` selects get `fault`.
struct PostRule {
  Verbs verbs = kAnyVerb;
  Selector when;
  PostFault fault;
  PostFilter where = nullptr;  ///< null: all
  std::uint64_t seen = 0;
  std::uint64_t fired = 0;
};

/// The calls that make things.
enum class SetupCall : std::uint8_t {
  kGetInfo,
  kFabric,
  kDomain,
  kCqOpen,
  kAvOpen,
  kEndpoint,
  kBind,
  kEnable,
  kGetName,
  kAvInsert,
  kMrRegister,
};
inline constexpr std::size_t kSetupCalls = 11;
constexpr unsigned bit(SetupCall call) noexcept { return 1U << static_cast<unsigned>(call); }
inline constexpr unsigned kAnySetupCall = (1U << kSetupCalls) - 1;

/// The set-up calls in `calls` are numbered; those that `when` selects return -error.
struct SetupRule {
  unsigned calls = kAnySetupCall;
  Selector when;
  int error = FI_EIO;
  std::uint64_t seen = 0;
  std::uint64_t fired = 0;
};

/// When messages arrive.
enum class Delivery : std::uint8_t {
  kInPost,  ///< before the post returns
  kOnRead,  ///< when completion queues have been read `delay_reads` times since the post
  kManual,  ///< in FakeFabric::step() and run_until_idle() only
};

/// Change it only while no other thread is inside the fake.
struct FaultPlan {
  Delivery delivery = Delivery::kInPost;
  unsigned delay_reads = 1;  ///< for kOnRead
  /// The next message from one endpoint to another is drawn from the oldest `reorder_window` between these two, as on
  /// SRD. 1: in order. Needs messages that wait, hence a delivery other than kInPost.
  std::size_t reorder_window = 1;
  /// Messages that are held back until this changes. Null: none.
  PostFilter hold = nullptr;
  std::vector<PostRule> posts;  ///< the first that fires decides
  std::vector<SetupRule> setups;
  /// Told of each set-up call before it does anything, under the same rules as a PostFilter. Null: nobody.
  std::function<void(SetupCall)> before_setup = nullptr;
  Random random{1};

  void seed(std::uint64_t seed) { random = Random(seed); }
  void on_post(Verbs verbs, Selector when, PostFault fault, PostFilter where = nullptr) {
    posts.push_back({.verbs = verbs, .when = when, .fault = fault, .where = std::move(where)});
  }
  void on_setup(unsigned calls, Selector when, int error) {
    setups.push_back({.calls = calls, .when = when, .error = error});
  }
  /// How often faults have happened.
  std::uint64_t fired() const noexcept {
    std::uint64_t sum = 0;
    for (const PostRule& rule : posts) sum += rule.fired;
    for (const SetupRule& rule : setups) sum += rule.fired;
    return sum;
  }

  /// The fake asks these two for every post and every set-up call.
  PostFault next_post(const PostEvent& event) {
    for (PostRule& rule : posts) {
      if ((rule.verbs & bit(event.verb)) == 0 || (rule.where && !rule.where(event))) continue;
      if (!rule.when.hits(++rule.seen, random)) continue;
      ++rule.fired;
      return rule.fault;
    }
    return {};
  }
  int next_setup(SetupCall call) {
    if (before_setup) before_setup(call);
    for (SetupRule& rule : setups) {
      if ((rule.calls & bit(call)) == 0 || !rule.when.hits(++rule.seen, random)) continue;
      ++rule.fired;
      return -rule.error;
    }
    return 0;
  }
};

}  // namespace weft::test
