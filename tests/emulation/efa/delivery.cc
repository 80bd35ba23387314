#include "tests/emulation/efa/delivery.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <numeric>
#include <span>
#include <vector>

#include "tests/emulation/efa/peers.h"
#include "tests/emulation/efa/queue_pair.h"
#include "tests/emulation/efa/random.h"
#include "tests/emulation/efa/settings.h"

namespace weft::emulation::efa {
namespace {

constexpr uint32_t kGlobalRouteHeader = 40;  // room for it leads every receive of a datagram queue pair

// Pieces of memory in order; no allocation, because every work request has two of them.
class Parts {
 public:
  Parts() = default;
  explicit Parts(iovec part) { push_back(part); }

  void push_back(iovec part) { parts_[end_++] = part; }
  const iovec* data() const { return parts_.data() + begin_; }
  size_t size() const { return end_ - begin_; }
  bool empty() const { return size() == 0; }
  const iovec& front() const { return parts_[begin_]; }

  size_t bytes() const {
    size_t sum = 0;
    for (size_t i = begin_; i < end_; ++i) sum += parts_[i].iov_len;
    return sum;
  }

  void skip(size_t bytes) {
    while (bytes != 0 && !empty()) {
      iovec& first = parts_[begin_];
      const size_t some = std::min(bytes, first.iov_len);
      first.iov_base = static_cast<char*>(first.iov_base) + some;
      first.iov_len -= some;
      bytes -= some;
      if (first.iov_len == 0) ++begin_;
    }
  }

 private:
  std::array<iovec, kMaxSegments> parts_;
  size_t begin_ = 0, end_ = 0;
};

// Between memory of this process and of another: 0 or an errno.
int copy(pid_t pid, Parts local, Parts remote, bool is_write) {
  size_t left = local.bytes();
  while (left != 0) {
    const ssize_t moved = is_write ? process_vm_writev(pid, local.data(), local.size(), remote.data(), remote.size(), 0)
                                   : process_vm_readv(pid, local.data(), local.size(), remote.data(), remote.size(), 0);
    if (moved <= 0) return moved < 0 ? errno : EFAULT;
    left -= static_cast<size_t>(moved);
    local.skip(static_cast<size_t>(moved));
    remote.skip(static_cast<size_t>(moved));
  }
  return 0;
}

void* pointer(uint64_t address) { return reinterpret_cast<void*>(address); }

class Delivery {
 public:
  Delivery(const Operation& operation, SharedDevice& target)
      : operation_(operation),
        own_(operation.pair->nic()),
        target_(target),
        pair_(target.queue_pair(operation.target_pair)) {}

  CompletionStatus run() {
    using enum CompletionStatus;
    for (const auto step : {&Delivery::check_target, &Delivery::find_local, &Delivery::find_remote,
                            &Delivery::take_receive, &Delivery::fit_message, &Delivery::move}) {
      if (const CompletionStatus status = (this->*step)(); status != kOk) return status;
    }
    if (operation_.is_announced()) {
      completions_->push(arrival_, target_.counters);
      target_.counters.arrivals++;
    }
    Counters& counters = own_.counters;
    (is_send() ? counters.sends : is_read() ? counters.reads : counters.writes)++;
    counters.bytes += operation_.length;
    return kOk;
  }

 private:
  bool is_send() const { return operation_.kind == OperationKind::kSend; }
  bool is_read() const { return operation_.kind == OperationKind::kRead; }
  bool is_write() const { return operation_.kind == OperationKind::kWrite; }

  CompletionStatus check_target() {
    if (&target_ != &own_ && target_.knobs.fail_status != 0) return CompletionStatus::kUnresponsiveRemote;
    const uint32_t state = pair_.state.load(std::memory_order_acquire);
    const bool ready = state >= IBV_QPS_RTR + 1 && state != IBV_QPS_ERR + 1;
    // Guess: a wrong queue key looks like a wrong queue pair.
    if (!ready || pair_.number != operation_.target_pair || pair_.qkey != operation_.target_key)
      return CompletionStatus::kRemoteBadQp;
    if (operation_.is_announced() && happens(target_.knobs.rnr_ppm)) return CompletionStatus::kRemoteNotReady;
    handle_ = target_.find_address_handle(own_.gid);
    // Guess: this status for RDMA from a peer that the target does not know.
    if (!is_send() && handle_ == kNoAddressHandle && settings().strict_address_handles)
      return CompletionStatus::kRemoteUnknownPeer;
    return CompletionStatus::kOk;
  }

  CompletionStatus find_local() {
    if (operation_.is_inline) {
      if (operation_.length != 0) local_.push_back({const_cast<uint8_t*>(operation_.inline_data), operation_.length});
      return CompletionStatus::kOk;
    }
    const uint32_t rights = is_read() ? IBV_ACCESS_LOCAL_WRITE : 0;
    for (const Segment& segment : std::span(operation_.segments, operation_.segment_count)) {
      if (segment.length == 0) continue;
      const uint64_t at = own_.resolve(segment.key, segment.address, segment.length, rights,
                                       operation_.pair->protection_domain(), getpid());
      if (at == 0) return CompletionStatus::kInvalidLocalKey;
      local_.push_back({pointer(at), segment.length});
    }
    return CompletionStatus::kOk;
  }

  CompletionStatus find_remote() {
    if (is_send() || operation_.length == 0) return CompletionStatus::kOk;
    const uint32_t rights = is_read() ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE;
    const uint64_t at = target_.resolve(operation_.remote_key, operation_.remote_address, operation_.length, rights,
                                        pair_.domain, pair_.pid);
    if (at == 0) return CompletionStatus::kRemoteBadAddress;
    remote_.push_back({pointer(at), operation_.length});
    return CompletionStatus::kOk;
  }

  CompletionStatus take_receive() {
    if (!operation_.is_announced()) return CompletionStatus::kOk;
    completions_ = peer_completions(pair_.completions);
    ReceiveQueue* receives = peer_receives(pair_.receives);
    if (completions_ == nullptr || receives == nullptr) return CompletionStatus::kUnresponsiveRemote;
    arrival_.pair = operation_.target_pair;
    arrival_.source_pair = operation_.pair->number();
    arrival_.kind = operation_.kind;
    arrival_.is_receive = true;
    arrival_.length = operation_.length;
    arrival_.has_immediate = operation_.has_immediate;
    arrival_.immediate = operation_.immediate;
    arrival_.address_handle = handle_;
    arrival_.source = own_.gid;
    if (is_write() && pair_.unsolicited != 0) {
      arrival_.unsolicited = true;
      target_.counters.unsolicited++;
    } else if (!receives->take(&receive_)) {
      return CompletionStatus::kRemoteNotReady;
    }
    arrival_.id = receive_.id;
    return CompletionStatus::kOk;
  }

  // A message that does not fit fails on both sides.
  CompletionStatus fail_both(CompletionStatus there, CompletionStatus here) {
    arrival_.status = there;
    completions_->push(arrival_, target_.counters);
    return here;
  }

  CompletionStatus fit_message() {
    if (!is_send()) return CompletionStatus::kOk;
    uint64_t room = 0;
    for (const Segment& segment : std::span(receive_.segments, receive_.segment_count)) {
      if (segment.length == 0) continue;
      const uint64_t at = target_.resolve(segment.key, segment.address, segment.length, IBV_ACCESS_LOCAL_WRITE,
                                          pair_.domain, pair_.pid);
      if (at == 0) return fail_both(CompletionStatus::kInvalidLocalKey, CompletionStatus::kRemoteBadStatus);
      remote_.push_back({pointer(at), segment.length});
      room += segment.length;
    }
    if (pair_.datagram != 0) {
      const bool holds_header = !remote_.empty() && remote_.front().iov_len >= kGlobalRouteHeader;
      if (holds_header) remote_.skip(kGlobalRouteHeader);
      room = holds_header ? room - kGlobalRouteHeader : 0;
      arrival_.length += kGlobalRouteHeader;
    }
    if (room < operation_.length) return fail_both(CompletionStatus::kBadLength, CompletionStatus::kRemoteBadLength);
    return CompletionStatus::kOk;
  }

  CompletionStatus move() {
    int error = 0;
    if (is_write() && own_.knobs.shuffle != 0 && local_.size() == 1 && operation_.length > settings().mtu) {
      error = move_shuffled();
    } else if (operation_.length != 0) {
      error = copy(pair_.pid, local_, remote_, !is_read());
    } else if (pair_.pid != getpid() && kill(pair_.pid, 0) != 0 && errno == ESRCH) {
      error = ESRCH;
    }
    if (error == 0) return CompletionStatus::kOk;
    if (error == ESRCH) return CompletionStatus::kUnresponsiveRemote;  // the process is gone
    return is_send() ? CompletionStatus::kRemoteBadStatus : CompletionStatus::kRemoteBadAddress;
  }

  int move_shuffled() {
    const size_t packet = settings().mtu;
    std::vector<size_t> packets((operation_.length + packet - 1) / packet);
    std::iota(packets.begin(), packets.end(), size_t{0});
    for (size_t i = packets.size(); i > 1; --i) std::swap(packets[i - 1], packets[random_below(i)]);
    own_.counters.shuffled++;
    for (const size_t index : packets) {
      const size_t offset = index * packet, size = std::min<size_t>(packet, operation_.length - offset);
      const int error = copy(pair_.pid, Parts({static_cast<char*>(local_.front().iov_base) + offset, size}),
                             Parts({static_cast<char*>(remote_.front().iov_base) + offset, size}), true);
      if (error != 0) return error;
    }
    return 0;
  }

  const Operation& operation_;
  SharedDevice& own_;
  SharedDevice& target_;
  QueuePairSlot& pair_;
  uint16_t handle_ = kNoAddressHandle;
  Parts local_, remote_;
  CompletionRing* completions_ = nullptr;
  PostedReceive receive_{};
  Completion arrival_{};
};

}  // namespace

CompletionStatus deliver(const Operation& operation) {
  if (operation.error != CompletionStatus::kOk) return operation.error;
  if (operation.pair->is_broken()) return CompletionStatus::kFlushed;
  // The NIC may have failed while the work request was on its way.
  if (const uint64_t failed = operation.pair->nic().knobs.fail_status; failed != 0)
    return static_cast<CompletionStatus>(failed);
  SharedDevice* target = peer_device(operation.gid);
  if (target == nullptr) return CompletionStatus::kUnreachableRemote;
  return Delivery(operation, *target).run();
}

}  // namespace weft::emulation::efa
