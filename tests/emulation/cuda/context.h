#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "tests/emulation/cuda/status.h"

namespace weft::emulation {

class Stream;

// A CUDA context: the streams of one device, and the error that made it unusable. Owns its streams.
class Context {
 public:
  explicit Context(int device);
  ~Context();

  int device() const { return device_; }
  Stream* add_stream(bool blocking, int priority);
  // Finishes the stream's work first; a real driver returns at once.
  void remove_stream(Stream* stream);
  // Stream 0, made on first use.
  Stream* legacy_stream();
  // The streams that the stream's operations wait for: stream 0 for the blocking ones, those for stream 0.
  std::vector<Stream*> predecessors(Stream* stream);
  void drain();
  void drain_blocking();

  // A kernel that failed. As on a GPU, every later call that looks says so.
  void fail(Status status) { error_ = status; }
  Status error() const { return error_; }

 private:
  std::vector<Stream*> streams(bool blocking_only);

  const int device_;
  std::atomic<Status> error_ = Status::kSuccess;
  std::mutex mutex_;
  Stream* legacy_ = nullptr;
  std::vector<std::unique_ptr<Stream>> streams_;
};

// The device's primary context. The device must exist.
Context& primary_context(int device);

// The calling thread's stack of contexts. The top is the current one, nullptr when there is none.
Context* current_context();
void set_current_context(Context* context);
void push_context(Context* context);
void pop_context();

}  // namespace weft::emulation
