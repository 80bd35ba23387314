#include "tests/support/traffic.h"

#include <algorithm>
#include <ranges>

namespace weft::test {

Traffic::Traffic(const CommPair& comms, const TrafficPlan& plan, std::uint64_t seed)
    : comms_(comms), plan_(plan), random_(seed) {}

void Traffic::fail(std::string what) {
  if (error_.empty()) error_ = std::move(what);
}

void Traffic::make_groups() {
  while (made_ < plan_.groups && groups_.size() < sendrecv::kRecvRequests + plan_.ahead) {
    Group group;
    group.optional = random_.chance(plan_.optional);
    const std::size_t count = 1 + random_.below(plan_.max_group);
    for (std::size_t i = 0; i < count; ++i) {
      auto message = std::make_unique<Message>();
      message->group = made_;
      message->tag = static_cast<int>(random_.below(plan_.tags)) * 1001;
      message->seed = random_.next();
      const std::size_t size = random_.chance(0.5) ? random_.below(64) : random_.below(plan_.max_bytes + 1);
      message->out.resize(size);
      message->in.resize(size + (random_.chance(0.5) ? random_.below(100) : 0));
      fill(message->out, message->seed);
      group.messages.push_back(std::move(message));
    }
    groups_.push_back(std::move(group));
    ++made_;
  }
}

void Traffic::post_receive() {
  const auto next = std::ranges::find(groups_, false, &Group::posted);
  if (next == groups_.end()) return;
  std::array<Buffer, sendrecv::kMaxGroup> buffers;
  for (std::size_t i = 0; i < next->messages.size(); ++i) {
    buffers[i] = {next->messages[i]->in, next->messages[i]->tag};
  }
  const PostStatus status =
      try_receive(*comms_.receive, std::span(buffers).first(next->messages.size()), next->request, next->optional);
  if (status == PostStatus::kFailed) return fail("receive: " + comms_.receive->error().what);
  next->posted = status == PostStatus::kPosted;
}

void Traffic::post_send() {
  // Any message may go next that is the oldest of its tag and belongs to one of the oldest groups not wholly sent.
  std::vector<Message*> candidates;
  std::vector<int> tags_seen;
  std::size_t oldest = made_;
  for (Group& group : groups_) {
    for (const auto& message : group.messages) {
      if (message->sent || message->send != nullptr) continue;
      oldest = std::min(oldest, message->group);
      if (message->group > oldest + plan_.ahead || std::ranges::count(tags_seen, message->tag) != 0) continue;
      tags_seen.push_back(message->tag);
      candidates.push_back(message.get());
    }
  }
  if (candidates.empty()) return;
  Message& message = *candidates[random_.below(candidates.size())];
  const PostStatus status = try_send(*comms_.send, message.out, message.tag, message.send);
  if (status == PostStatus::kFailed) return fail("send: " + comms_.send->error().what);
  if (status == PostStatus::kPosted) sending_.push_back(&message);
}

void Traffic::test_send() {
  if (sending_.empty()) return;
  const std::size_t which = random_.below(sending_.size());
  Message& message = *sending_[which];
  int size = -1;
  switch (sendrecv::test(*message.send, &size)) {
    case TestStatus::kPending: return;
    case TestStatus::kFailed: return fail("a send: " + comms_.send->error().what);
    case TestStatus::kDone: break;
  }
  if (size != static_cast<int>(message.out.size())) fail("a send reports " + std::to_string(size) + " bytes");
  message.sent = true;
  message.send = nullptr;
  sending_.erase(sending_.begin() + static_cast<std::ptrdiff_t>(which));
}

void Traffic::test_receive() {
  std::vector<Group*> waiting;
  for (Group& group : groups_) {
    if (group.posted && !group.received) waiting.push_back(&group);
  }
  if (waiting.empty()) return;
  Group& group = *waiting[random_.below(waiting.size())];
  std::array<int, sendrecv::kMaxGroup> sizes{};
  switch (sendrecv::test(*group.request, sizes.data())) {
    case TestStatus::kPending: return;
    case TestStatus::kFailed: return fail("a receive: " + comms_.receive->error().what);
    case TestStatus::kDone: break;
  }
  group.received = true;
  if (group.optional) return;
  for (std::size_t i = 0; i < group.messages.size(); ++i) {
    if (sizes[i] == static_cast<int>(group.messages[i]->out.size())) continue;
    fail("a receive reports " + std::to_string(sizes[i]) + " bytes for " +
         std::to_string(group.messages[i]->out.size()));
  }
  check(group);
}

void Traffic::check(const Group& group) {
  for (const auto& message : group.messages) {
    const std::size_t wrong = wrong_bytes(std::span(message->in).first(message->out.size()), message->seed);
    if (wrong == 0) continue;
    fail(std::to_string(wrong) + " of " + std::to_string(message->out.size()) + " bytes are wrong in receive " +
         std::to_string(message->group) + ", tag " + std::to_string(message->tag));
  }
}

void Traffic::retire() {
  while (!groups_.empty() && groups_.front().received &&
         std::ranges::all_of(groups_.front().messages, [](const auto& each) { return each->sent; })) {
    messages_ += groups_.front().messages.size();
    if (groups_.front().optional) detached_.push_back(std::move(groups_.front()));
    groups_.pop_front();
    ++first_;
  }
}

bool Traffic::wind_down() {
  Device& device = comms_.receive->device();
  progress(device);
  {
    const SpinGuard guard(device.lock());
    if (!comms_.receive->is_idle()) return true;
  }
  for (const Group& group : detached_) check(group);
  detached_.clear();
  return false;
}

bool Traffic::step() {
  if (!error_.empty()) return false;
  make_groups();
  if (groups_.empty()) return wind_down();
  // Some phases favour one end, so that either runs ahead of the other.
  const std::uint64_t bias = (messages_ / 64) % 3;
  switch (random_.below(4 + (bias != 0 ? 2 : 0))) {
    case 0: post_receive(); break;
    case 1: post_send(); break;
    case 2: test_receive(); break;
    case 3: test_send(); break;
    default: bias == 1 ? post_send() : post_receive(); break;
  }
  retire();
  return true;
}

std::string run(std::vector<Traffic>& traffic, std::chrono::milliseconds limit) {
  std::vector<bool> ended(traffic.size(), false);
  const bool all = poll_until(
      [&] {
        bool left = false;
        for (std::size_t i = 0; i < traffic.size(); ++i) {
          if (ended[i]) continue;
          ended[i] = !traffic[i].step();
          left = left || !ended[i];
        }
        return !left;
      },
      limit);
  for (const Traffic& each : traffic) {
    if (!each.error().empty()) return each.error();
  }
  return all ? "" : "the traffic has come to a stop";
}

}  // namespace weft::test
