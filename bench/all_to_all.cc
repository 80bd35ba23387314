#include "bench/all_to_all.h"

#include <algorithm>
#include <cstring>

#include "bench/bandwidth.h"
#include "bench/pattern.h"

namespace weft::bench {
namespace {

std::uint64_t pair_seed(int source, int destination, std::uint64_t iteration) {
  return stream_seed(static_cast<std::uint64_t>(source), static_cast<std::uint64_t>(destination), iteration);
}

}  // namespace

AllToAll::AllToAll(const Session& session) : session_(session) {
  for (const std::size_t bytes : session.options.sizes) {
    const std::size_t part = std::max<std::size_t>(1, bytes / static_cast<std::size_t>(session.size()));
    if (parts_.empty() || parts_.back() != part) parts_.push_back(part);
  }
}

Result<std::unique_ptr<Workload>> AllToAll::create(const Session& session, Mesh& mesh) {
  std::unique_ptr<AllToAll> made(new AllToAll(session));
  const std::size_t largest = made->parts_.back() * static_cast<std::size_t>(session.size());
  TRY(made->output_, Buffer::allocate(largest));
  TRY(made->input_, Buffer::allocate(largest));
  for (const auto& pipe : mesh.send) {
    if (pipe == nullptr) continue;
    TRY(const int region, pipe->add_region(made->output_.data(), largest));
    made->transfers_.push_back({.pipe = pipe.get(), .region = region});
  }
  for (const auto& pipe : mesh.receive) {
    if (pipe == nullptr) continue;
    TRY(const int region, pipe->add_region(made->input_.data(), largest));
    made->transfers_.push_back({.pipe = pipe.get(), .region = region});
  }
  return made;
}

Shape AllToAll::shape(std::size_t row) const {
  const std::size_t bytes = parts_[row] * static_cast<std::size_t>(session_.size());
  return {.label = {},
          .bytes = bytes,
          .count = bytes,
          .type = "uint8",
          .redop = "none",
          .algorithm_bytes = static_cast<double>(bytes),
          .wire_bytes = static_cast<double>(bytes) * all_to_all_bus_factor(session_.size())};
}

std::span<std::byte> AllToAll::part(const Buffer& buffer, int rank) const {
  return {buffer.data() + static_cast<std::size_t>(rank) * part_, part_};
}

void AllToAll::select(std::size_t row) {
  part_ = parts_[row];
  for (std::size_t i = 0; i < transfers_.size(); ++i) {
    Transfer& transfer = transfers_[i];
    const bool outward = i < transfers_.size() / 2;
    transfer.data = part(outward ? output_ : input_, transfer.pipe->peer()).data();
    transfer.bytes = part_;
  }
}

void AllToAll::fill(std::uint64_t iteration) {
  for (int peer = 0; peer < session_.size(); ++peer) {
    fill_stream(part(output_, peer), pair_seed(session_.rank(), peer, iteration));
    poison_stream(part(input_, peer), pair_seed(peer, session_.rank(), iteration));
  }
}

Status AllToAll::run() {
  std::ranges::copy(part(output_, session_.rank()), part(input_, session_.rank()).begin());
  return exchange(transfers_, session_.options.chunk, session_.idle);
}

std::size_t AllToAll::wrong(std::uint64_t iteration) const {
  std::size_t wrong = 0;
  for (int peer = 0; peer < session_.size(); ++peer) {
    wrong += count_wrong(part(input_, peer), pair_seed(peer, session_.rank(), iteration));
  }
  return wrong;
}

}  // namespace weft::bench
