// A rank's side of the rendezvous: meeting the others, gathering small messages, and learning when one of them fails.
#pragma once

#include <chrono>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "bench/frame.h"
#include "bench/socket.h"
#include "weft/result.h"

namespace weft::bench {

/// The first thing that went wrong on any rank.
struct Failure {
  int rank = -1;  ///< whose fault it is; -1: nobody's in particular
  std::string what;
};

/// One thread. Once a failure is known, every call fails with it.
class Rendezvous {
 public:
  /// Connects to rank 0's server, which must serve `size` ranks, within `limit`.
  static Result<Rendezvous> join(const HostPort& server, int rank, int size, std::chrono::milliseconds limit);

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// Every rank's `part`, by rank. All ranks must call it, in the same order. Ends with an error when a rank fails.
  Result<std::vector<Bytes>> all_gather(std::span<const std::byte> part);
  Status barrier();

  /// The same for one trivially copyable value per rank.
  template <class T>
  Result<std::vector<T>> all_gather_value(const T& value);

  /// Looks whether a failure has been reported, without waiting. A system call: not for every turn of a busy loop.
  const std::optional<Failure>& failure();

  /// Tells the others that this rank ends because of `what`, and waits until they have been told, at most 1 s.
  void report_failure(const std::string& what);
  /// Says that this rank is done. To be called after the last barrier.
  void leave();

 private:
  Rendezvous(Descriptor fd, int rank, int size, std::chrono::milliseconds limit)
      : fd_(std::move(fd)), rank_(rank), size_(size), limit_(limit) {}

  /// Reads what is there; true where a gather's answer is now in the reader.
  bool read();
  std::unexpected<Error> failed() const;

  Descriptor fd_;
  int rank_;
  int size_;
  std::chrono::milliseconds limit_;
  std::uint32_t gathers_ = 0;
  FrameReader reader_;
  std::optional<Failure> failure_;
};

template <class T>
Result<std::vector<T>> Rendezvous::all_gather_value(const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  TRY(const std::vector<Bytes> parts, all_gather(std::as_bytes(std::span(&value, 1))));
  std::vector<T> values(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].size() != sizeof(T)) return fail(Code::kRemote, "ranks gathered messages of different kinds");
    std::memcpy(&values[i], parts[i].data(), sizeof(T));
  }
  return values;
}

}  // namespace weft::bench
