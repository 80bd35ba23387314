#include "bench/moe.h"

#include <algorithm>
#include <numeric>

#include "bench/pattern.h"
#include "bench/router.h"
#include "bench/text.h"

namespace weft::bench {

Moe::Moe(const Session& session) : session_(session) {
  const auto size = static_cast<std::size_t>(session.size());
  own_.lots.resize(size);
  guests_.lots.resize(size);
  dispatched_.resize(size);
  received_.resize(size);
  load_.resize(size);
}

void Moe::route_all_tokens() {
  const Options& options = session_.options;
  const Router router(options.experts, options.top_k, options.zipf, options.seed);
  for (int origin = 0; origin < session_.size(); ++origin) {
    for (int token = 0; token < options.tokens; ++token) {
      for (const int expert : router.route(origin, token)) {
        const int home = home_of(expert);
        const Copy copy{origin, token, expert};
        ++load_[static_cast<std::size_t>(home)];
        if (home != origin) {
          ++dispatched_[static_cast<std::size_t>(origin)];
          ++received_[static_cast<std::size_t>(home)];
        }
        if (origin == session_.rank()) own_.lots[static_cast<std::size_t>(home)].copies.push_back(copy);
        if (home == session_.rank()) guests_.lots[static_cast<std::size_t>(origin)].copies.push_back(copy);
      }
    }
  }
  for (Side* side : {&own_, &guests_}) {
    for (Lot& lot : side->lots) {
      lot.begin = side->bytes;
      side->bytes += lot.copies.size() * options.hidden;
    }
  }
}

Status Moe::make_transfers(Mesh& mesh) {
  const auto add = [this](std::vector<Transfer>& list, Pipe& pipe, const Side& side, const Buffer& buffer) -> Status {
    TRY(const int region, pipe.add_region(buffer.data(), buffer.size()));
    const auto part = bytes_of(buffer, side.lots[static_cast<std::size_t>(pipe.peer())]);
    list.push_back({.pipe = &pipe, .region = region, .data = part.data(), .bytes = part.size()});
    return {};
  };
  for (const auto& pipe : mesh.send) {
    if (pipe == nullptr) continue;
    TRY_VOID(add(dispatch_, *pipe, own_, own_.dispatch));
    TRY_VOID(add(combine_, *pipe, guests_, guests_.combine));
  }
  for (const auto& pipe : mesh.receive) {
    if (pipe == nullptr) continue;
    TRY_VOID(add(dispatch_, *pipe, guests_, guests_.dispatch));
    TRY_VOID(add(combine_, *pipe, own_, own_.combine));
  }
  return {};
}

Result<std::unique_ptr<Workload>> Moe::create(const Session& session, Mesh& mesh) {
  std::unique_ptr<Moe> made(new Moe(session));
  made->route_all_tokens();
  for (Side* side : {&made->own_, &made->guests_}) {
    // A rank whose experts nobody wants still has something to register.
    const std::size_t bytes = std::max<std::size_t>(1, side->bytes);
    TRY(side->dispatch, Buffer::allocate(bytes));
    TRY(side->combine, Buffer::allocate(bytes));
  }
  TRY_VOID(made->make_transfers(mesh));
  return made;
}

Shape Moe::shape(std::size_t row) const {
  const Options& options = session_.options;
  const std::size_t bytes =
      static_cast<std::size_t>(options.tokens) * static_cast<std::size_t>(options.top_k) * options.hidden;
  // The rank that sends or receives most ends last; combine is dispatch backwards, so its busiest rank is the same.
  const std::size_t busiest = std::max(std::ranges::max(dispatched_), std::ranges::max(received_));
  return {.label = row == 0 ? "dispatch" : "combine",
          .bytes = bytes,
          .count = bytes,
          .type = "uint8",
          .redop = "none",
          .algorithm_bytes = static_cast<double>(bytes),
          .wire_bytes = static_cast<double>(busiest * options.hidden)};
}

std::string Moe::note() const {
  const Options& options = session_.options;
  const double total = static_cast<double>(std::accumulate(load_.begin(), load_.end(), std::size_t{0}));
  const double busiest = static_cast<double>(std::ranges::max(load_));
  return text(
      "%d tokens of %zu bytes per rank, each to %d of %d experts, Zipf %g: the busiest rank gets %.2f times the mean",
      options.tokens, options.hidden, options.top_k, options.experts, options.zipf,
      busiest / (total / static_cast<double>(load_.size())));
}

std::uint64_t Moe::seed_of(const Copy& copy, std::uint64_t iteration) const {
  // Results differ from tokens, as an expert's would.
  const std::uint64_t kind = combining_ ? 1 : 0;
  const std::uint64_t token =
      stream_seed(static_cast<std::uint64_t>(copy.origin), static_cast<std::uint64_t>(copy.token), kind);
  return stream_seed(token, static_cast<std::uint64_t>(copy.expert), iteration);
}

std::span<std::byte> Moe::bytes_of(const Buffer& buffer, const Lot& lot) const {
  return {buffer.data() + lot.begin, lot.copies.size() * session_.options.hidden};
}

void Moe::fill(std::uint64_t iteration) {
  const auto write = [&](const Side& side, void (*one)(std::span<std::byte>, std::uint64_t)) {
    for (const Lot& lot : side.lots) {
      std::byte* place = bytes_of(buffer_of(side), lot).data();
      for (const Copy& copy : lot.copies) {
        one({place, session_.options.hidden}, seed_of(copy, iteration));
        place += session_.options.hidden;
      }
    }
  };
  write(source(), &fill_stream);
  write(target(), &poison_stream);
}

Status Moe::run() {
  const auto self = static_cast<std::size_t>(session_.rank());
  std::ranges::copy(bytes_of(buffer_of(source()), source().lots[self]),
                    bytes_of(buffer_of(target()), target().lots[self]).begin());
  return exchange(combining_ ? combine_ : dispatch_, session_.options.chunk, session_.idle);
}

std::size_t Moe::wrong(std::uint64_t iteration) const {
  std::size_t wrong = 0;
  for (const Lot& lot : target().lots) {
    const std::byte* place = bytes_of(buffer_of(target()), lot).data();
    for (const Copy& copy : lot.copies) {
      wrong += count_wrong({place, session_.options.hidden}, seed_of(copy, iteration));
      place += session_.options.hidden;
    }
  }
  return wrong;
}

}  // namespace weft::bench
