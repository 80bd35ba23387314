#include "bench/pipe.h"

#include <utility>

#include "bench/text.h"

namespace weft::bench {

Pipe::Pipe(NetPlugin& plugin, Direction direction, int peer, std::vector<void*> comms, int depth)
    : plugin_(&plugin),
      direction_(direction),
      peer_(peer),
      comms_(std::move(comms)),
      slots_(comms_.size() * static_cast<std::size_t>(depth)) {}

Pipe::~Pipe() {
  // close() has reported what there was to report; this is the way out after another error.
  (void)close();
}

Result<int> Pipe::add_region(std::byte* data, std::size_t bytes) {
  Region& region = regions_.emplace_back();
  for (void* comm : comms_) {
    void* handle = nullptr;
    if (const auto result = plugin_->reg_mr(comm, data, bytes, &handle); result != nccl::ncclSuccess) {
      return fail(Code::kSystem,
                  text("registering %zu bytes for the %s failed: %s", bytes, what().c_str(), result_text(result)));
    }
    region.handles.push_back(handle);
  }
  return static_cast<int>(regions_.size() - 1);
}

PostStatus Pipe::post_group(int region, std::byte* data, std::size_t bytes, int count, int tag) {
  if (in_flight() == slots_.size()) return PostStatus::kAgain;
  const std::size_t channel = next_comm_;
  void* handle = regions_[static_cast<std::size_t>(region)].handles[channel];
  void* request = nullptr;
  nccl::ncclResult_t result;
  if (direction_ == Direction::kSend) {
    result = plugin_->isend(comms_[channel], data, bytes, tag, handle, &request);
  } else {
    void* places[kMaxSubReceives];
    std::size_t sizes[kMaxSubReceives];
    int tags[kMaxSubReceives];
    void* handles[kMaxSubReceives];
    for (int i = 0; i < count; ++i) {
      places[i] = data + static_cast<std::size_t>(i) * bytes;
      sizes[i] = bytes;
      tags[i] = tag + i;
      handles[i] = handle;
    }
    result = plugin_->irecv(comms_[channel], count, places, sizes, tags, handles, &request);
  }
  if (result != nccl::ncclSuccess) [[unlikely]] {
    set_error(direction_ == Direction::kSend ? "isend" : "irecv", result);
    return PostStatus::kFailed;
  }
  if (request == nullptr) return PostStatus::kAgain;
  slots_[next_slot_] = {request, bytes, count};
  next_slot_ = after(next_slot_, slots_.size());
  next_comm_ = after(next_comm_, comms_.size());
  ++posted_;
  return PostStatus::kPosted;
}

TestStatus Pipe::poll() {
  if (in_flight() == 0) return TestStatus::kPending;
  const Slot& slot = slots_[oldest_slot_];
  int done = 0;
  int sizes[kMaxSubReceives] = {};
  if (const auto result = plugin_->test(slot.request, &done, sizes); result != nccl::ncclSuccess) [[unlikely]] {
    set_error("test", result);
    return TestStatus::kFailed;
  }
  if (done == 0) return TestStatus::kPending;
  ++done_;
  oldest_slot_ = after(oldest_slot_, slots_.size());
  return finish(slot, sizes);
}

TestStatus Pipe::finish(const Slot& slot, const int* sizes) {
  // What a plugin reports as the size of a send is its own affair; NCCL does not look at it.
  if (direction_ == Direction::kSend) return TestStatus::kDone;
  for (int i = 0; i < slot.count; ++i) {
    if (static_cast<std::size_t>(sizes[i]) == slot.bytes) continue;
    error_ = Error{Code::kTruncated, 0,
                   text("%s failed: %d bytes arrived where %zu were sent", what().c_str(), sizes[i], slot.bytes)};
    return TestStatus::kFailed;
  }
  return TestStatus::kDone;
}

std::string Pipe::what() const {
  return text(direction_ == Direction::kSend ? "send to rank %d" : "receive from rank %d", peer_);
}

void Pipe::set_error(const char* call, nccl::ncclResult_t result) {
  error_ = Error{Code::kRemote, 0, text("%s failed: %s says %s", what().c_str(), call, result_text(result))};
}

Status Pipe::close() {
  Status status;
  const auto check = [&](const char* call, nccl::ncclResult_t result) {
    if (result == nccl::ncclSuccess || !status) return;
    status = fail(Code::kSystem, text("%s of the %s failed: %s", call, what().c_str(), result_text(result)));
  };
  for (const Region& region : std::exchange(regions_, {})) {
    for (std::size_t i = 0; i < region.handles.size(); ++i) {
      if (region.handles[i] != nullptr) check("deregMr", plugin_->dereg_mr(comms_[i], region.handles[i]));
    }
  }
  for (void* comm : std::exchange(comms_, {})) {
    if (direction_ == Direction::kSend) {
      check("closeSend", plugin_->close_send(comm));
    } else {
      check("closeRecv", plugin_->close_recv(comm));
    }
  }
  return status;
}

}  // namespace weft::bench
