#include "tests/emulation/cuda/context.h"

#include <algorithm>

#include "tests/emulation/cuda/settings.h"
#include "tests/emulation/cuda/stream.h"

namespace weft::emulation {
namespace {

// Plain data on purpose: NCCL still calls in from handlers of process exit, when thread_local objects with destructors
// are gone.
struct ContextStack {
  static constexpr int kLimit = 32;
  Context* contexts[kLimit];
  int depth;
};
thread_local ContextStack stack;

}  // namespace

Context::Context(int device) : device_(device) {}
Context::~Context() = default;

Stream* Context::add_stream(bool blocking, int priority) {
  auto stream = std::make_unique<Stream>(*this, blocking, priority);
  const std::lock_guard lock(mutex_);
  return streams_.emplace_back(std::move(stream)).get();
}

void Context::remove_stream(Stream* stream) {
  std::unique_ptr<Stream> removed;  // declared before the lock: its destructor waits for the stream's work
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(streams_, stream, &std::unique_ptr<Stream>::get);
  if (found == streams_.end()) return;
  removed = std::move(*found);
  streams_.erase(found);
}

Stream* Context::legacy_stream() {
  const std::lock_guard lock(mutex_);
  if (legacy_ == nullptr) legacy_ = streams_.emplace_back(std::make_unique<Stream>(*this, true, 0)).get();
  return legacy_;
}

std::vector<Stream*> Context::predecessors(Stream* stream) {
  std::vector<Stream*> before;
  const std::lock_guard lock(mutex_);
  if (stream == legacy_) {
    for (const auto& other : streams_) {
      if (other.get() != stream && other->blocking()) before.push_back(other.get());
    }
  } else if (stream->blocking() && legacy_ != nullptr) {
    before.push_back(legacy_);
  }
  return before;
}

std::vector<Stream*> Context::streams(bool blocking_only) {
  std::vector<Stream*> all;
  const std::lock_guard lock(mutex_);
  for (const auto& stream : streams_) {
    if (!blocking_only || stream->blocking()) all.push_back(stream.get());
  }
  return all;
}

void Context::drain() {
  for (Stream* stream : streams(false)) stream->drain();
}

void Context::drain_blocking() {
  for (Stream* stream : streams(true)) stream->drain();
}

Context& primary_context(int device) {
  static auto& contexts = *[] {
    auto* all = new std::vector<std::unique_ptr<Context>>;
    for (size_t i = 0; i < settings().visible.size(); ++i)
      all->push_back(std::make_unique<Context>(static_cast<int>(i)));
    return all;
  }();
  return *contexts[static_cast<size_t>(device)];
}

Context* current_context() { return stack.depth > 0 ? stack.contexts[stack.depth - 1] : nullptr; }

void set_current_context(Context* context) {
  pop_context();
  if (context != nullptr) push_context(context);
}

void push_context(Context* context) {
  if (stack.depth < ContextStack::kLimit) stack.contexts[stack.depth++] = context;
}

void pop_context() {
  if (stack.depth > 0) --stack.depth;
}

}  // namespace weft::emulation
