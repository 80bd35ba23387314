#include "tests/support/stream.h"

#include <algorithm>
#include <ranges>

#include "transports/rdma/early_message.h"

namespace weft::soak {
namespace {

/// Behind each buffer, to see that nobody writes there.
constexpr std::size_t kGuard = 16;
/// More than the plugin keeps, so that it must refuse some.
constexpr std::size_t kGroupsAhead = 40;

void* const kOptional = reinterpret_cast<void*>(nccl::kNetOptionalRecvCompletion);

}  // namespace

Result<std::unique_ptr<Stream>> Stream::make(bench::NetPlugin& plugin, int from, int to, const StreamPlan& plan,
                                             std::uint64_t seed) {
  TRY(auto link, Link::make(plugin, from, to));
  std::unique_ptr<Stream> stream(new Stream(std::move(link), plan, seed));
  TRY(stream->arena_, Arena::make(*stream->link_));
  stream->link_->send_first = stream->random_.chance(0.5);
  return stream;
}

void Stream::fail(std::string what) {
  if (error_.empty()) error_ = std::move(what);
}

bool Stream::went_well(const char* call, nccl::ncclResult_t result) {
  if (const Status status = check(call, result); !status) fail(status.error().what);
  return result == nccl::ncclSuccess;
}

std::string Stream::text() const {
  std::size_t posted = 0;
  for (const Group& group : groups_) posted += group.posted && !group.received ? 1 : 0;
  return std::to_string(first_) + " of " + std::to_string(plan_.groups) + " receives over, " + std::to_string(posted) +
         " more posted, " + std::to_string(sending_.size()) + " sends under way";
}

std::size_t Stream::random_size() {
  const std::uint64_t kind = random_.below(100);
  if (kind < 8) return 0;
  if (kind < 60) return random_.below(256);
  if (kind < 85) return random_.below(std::min<std::size_t>(8192, plan_.max_bytes) + 1);
  if (kind < 97) return random_.below(std::min<std::size_t>(128 * 1024, plan_.max_bytes) + 1);
  return random_.below(plan_.max_bytes + 1);
}

bool Stream::make_group() {
  const std::uint64_t before = arena_->head();
  Group group;
  group.optional = random_.chance(plan_.optional);
  const std::size_t count = 1 + random_.below(plan_.max_group);
  for (std::size_t i = 0; i < count; ++i) {
    auto message = std::make_unique<Message>();
    message->group = made_;
    message->tag = static_cast<int>(random_.below(plan_.tags)) * 1001;
    message->seed = random_.next();
    message->size = random_size();
    message->room = message->size + (random_.chance(0.5) ? random_.below(100) : 0);
    const auto place = arena_->take(message->room + kGuard);
    if (!place) {
      arena_->give_up(before);
      return false;
    }
    message->place = *place;
    const auto in = arena_->in(message->place, message->room + kGuard);
    if (written_bytes(in) != 0) {
      fail("a buffer was written after it had been given back, before receive " + std::to_string(made_));
    }
    fill(arena_->out(message->place, message->size), message->seed);
    group.messages.push_back(std::move(message));
  }
  groups_.push_back(std::move(group));
  ++made_;
  return true;
}

void Stream::make_groups() {
  while (made_ < plan_.groups && groups_.size() < kGroupsAhead && make_group()) {
  }
}

void Stream::post(Group& group) {
  std::array<void*, bench::kMaxSubReceives> data{};
  std::array<std::size_t, bench::kMaxSubReceives> sizes{};
  std::array<int, bench::kMaxSubReceives> tags{};
  std::array<void*, bench::kMaxSubReceives> memory{};
  for (std::size_t i = 0; i < group.messages.size(); ++i) {
    const Message& message = *group.messages[i];
    data[i] = arena_->in(message.place, message.room).data();
    sizes[i] = message.room;
    tags[i] = message.tag;
    memory[i] = arena_->in_memory();
  }
  void* request = group.optional ? kOptional : nullptr;
  const auto result = plugin().irecv(link_->receiver(), static_cast<int>(group.messages.size()), data.data(),
                                     sizes.data(), tags.data(), memory.data(), &request);
  if (!went_well("irecv", result)) return;
  if (request == kOptional) return fail("irecv leaves the request as it was");
  group.request = request;
  group.posted = request != nullptr;
}

void Stream::post_receive() {
  const auto next = std::ranges::find(groups_, false, &Group::posted);
  if (next != groups_.end()) post(*next);
}

/// Whether its turn has come: it is the oldest of its tag in the oldest receive that is not wholly sent to.
bool Stream::is_next(const Message& message) const {
  for (const Group& group : groups_) {
    bool open = false;
    for (const auto& each : group.messages) {
      if (each->sent || each->request != nullptr) continue;
      if (each->tag == message.tag) return each.get() == &message;
      open = true;
    }
    if (open) return false;
  }
  return false;
}

/// Any message that is the oldest of its tag; now and then one whose turn has not come.
Stream::Message* Stream::choose() {
  std::vector<Message*> candidates;
  std::vector<int> tags;
  const bool early = random_.chance(0.1);
  for (Group& group : groups_) {
    for (const auto& message : group.messages) {
      if (message->sent || message->request != nullptr || std::ranges::count(tags, message->tag) != 0) {
        continue;
      }
      tags.push_back(message->tag);
      candidates.push_back(message.get());
    }
    if (!candidates.empty() && !early) break;
  }
  return candidates.empty() ? nullptr : candidates[random_.below(candidates.size())];
}

void Stream::post_send() {
  Message* const message = choose();
  if (message == nullptr) return;
  void* request = nullptr;
  const bool next = is_next(*message);
  const auto result = plugin().isend(link_->sender(), arena_->out(message->place, message->size).data(), message->size,
                                     message->tag, arena_->out_memory(), &request);
  if (!went_well("isend", result) || request == nullptr) return;
  // A short one may be taken before its turn: it goes early, or again when its turn comes.
  if (!next && message->size > rdma::kMaxEarlyBytes)
    fail("isend takes a message for receive " + std::to_string(message->group) + " before its turn");
  message->request = request;
  sending_.push_back(message);
}

void Stream::test_send() {
  if (sending_.empty()) return;
  const std::size_t which = random_.below(sending_.size());
  Message& message = *sending_[which];
  int done = 0;
  int size = -1;
  if (!went_well("test of a send", plugin().test(message.request, &done, &size)) || done == 0) return;
  if (size != static_cast<int>(message.size)) fail("a send reports " + std::to_string(size) + " bytes");
  message.sent = true;
  message.request = nullptr;
  sending_.erase(sending_.begin() + static_cast<std::ptrdiff_t>(which));
}

void Stream::test_receive() {
  std::vector<Group*> waiting;
  for (Group& group : groups_) {
    if (group.posted && !group.received) waiting.push_back(&group);
  }
  if (waiting.empty()) return;
  Group& group = *waiting[random_.below(waiting.size())];
  std::array<int, bench::kMaxSubReceives> sizes{};
  int done = 0;
  if (!went_well("test of a receive", plugin().test(group.request, &done, sizes.data())) || done == 0) return;
  group.received = true;
  if (group.optional) return;
  for (std::size_t i = 0; i < group.messages.size(); ++i) {
    if (sizes[i] == static_cast<int>(group.messages[i]->size)) continue;
    fail("receive " + std::to_string(group.messages[i]->group) + " reports " + std::to_string(sizes[i]) +
         " bytes for " + std::to_string(group.messages[i]->size));
  }
  check_data(group);
}

void Stream::check_data(Group& group) {
  for (const auto& message : group.messages) {
    const auto in = arena_->in(message->place, message->room + kGuard);
    const std::size_t wrong = wrong_bytes(in.first(message->size), message->seed);
    const std::size_t behind = written_bytes(in.subspan(message->size));
    if (wrong != 0 || behind != 0) {
      fail(std::to_string(wrong) + " of " + std::to_string(message->size) + " bytes are wrong and " +
           std::to_string(behind) + " behind them written in receive " + std::to_string(message->group) + ", tag " +
           std::to_string(message->tag));
    }
    // From here on nobody may write there.
    clear(in);
  }
  group.checked = true;
}

void Stream::retire() {
  while (!groups_.empty() && groups_.front().received &&
         std::ranges::all_of(groups_.front().messages, [](const auto& each) { return each->sent; })) {
    Group& oldest = groups_.front();
    // A receive that need not say when it is done has its data when all the sends say so.
    if (!oldest.checked) check_data(oldest);
    messages_ += oldest.messages.size();
    const Message& last = *oldest.messages.back();
    arena_->give_back(last.place + last.room + kGuard);
    groups_.pop_front();
    ++first_;
  }
}

/// Receives that are open when the connection is closed.
void Stream::leave_open() {
  plan_.groups += plan_.left_open;
  make_groups();
  while (std::ranges::any_of(groups_, [](const Group& group) { return !group.posted; }) && error_.empty()) {
    post_receive();
  }
  for (Group& group : groups_) {
    for (const auto& message : group.messages) {
      if (written_bytes(arena_->in(message->place, message->room + kGuard)) != 0) fail("a message that was never sent");
    }
  }
}

bool Stream::step() {
  if (!error_.empty() || ended_) return false;
  make_groups();
  if (groups_.empty()) {
    ended_ = true;
    leave_open();
    return false;
  }
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

}  // namespace weft::soak
