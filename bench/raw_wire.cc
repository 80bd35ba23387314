#include "bench/raw_wire.h"

#include <algorithm>
#include <array>
#include <utility>

#include "bench/text.h"

namespace weft::bench {
namespace {

/// Smaller is better; what is not in the list is taken only when it is named.
constexpr std::array kProviders = {"efa", "cxi", "opx", "psm3", "psm2", "verbs;ofi_rxm", "tcp", "tcp;ofi_rxm"};

std::size_t place_of(const std::string& provider) {
  return static_cast<std::size_t>(std::ranges::find(kProviders, provider) - kProviders.begin());
}

/// "tcp" also means "tcp;ofi_rxm".
bool is_named(const std::string& provider, const std::string& wanted) {
  return provider == wanted || provider.starts_with(wanted + ";");
}

/// The offer to use: of the named provider or the best one, preferably on the wanted domain and over IPv4.
Result<std::size_t> choose(const std::vector<fabric::Info>& offers, const RawChoice& choice) {
  std::size_t best = offers.size();
  std::array<std::size_t, 3> best_rank{};
  for (std::size_t i = 0; i < offers.size(); ++i) {
    const std::string provider = offers[i].provider();
    if (!choice.provider.empty() && !is_named(provider, choice.provider)) continue;
    const std::size_t place = place_of(provider);
    if (choice.provider.empty() && place == kProviders.size()) continue;
    const std::array<std::size_t, 3> rank = {offers[i].domain() == choice.domain ? std::size_t{0} : 1, place,
                                             offers[i].get()->addr_format == FI_SOCKADDR_IN6 ? std::size_t{1} : 0};
    if (best == offers.size() || rank < best_rank) {
      best = i;
      best_rank = rank;
    }
  }
  if (best < offers.size()) return best;
  return fail(Code::kMissing,
              text("--raw: libfabric offers no provider '%s' with tagged messages", choice.provider.c_str()));
}

/// offers[first], and behind it offers of the same provider and fabric on other domains, `count` in all.
Result<std::vector<fabric::Info>> spread(std::vector<fabric::Info> offers, std::size_t first, int count) {
  std::ranges::rotate(offers, offers.begin() + static_cast<std::ptrdiff_t>(first));
  std::vector<fabric::Info> taken;
  for (fabric::Info& offer : offers) {
    if (std::ssize(taken) == count) break;
    const auto is_like = [&](const fabric::Info& other) { return other.domain() == offer.domain(); };
    if (std::ranges::any_of(taken, is_like)) continue;
    if (!taken.empty() && (offer.provider() != taken[0].provider() || offer.fabric() != taken[0].fabric() ||
                           offer.get()->addr_format != taken[0].get()->addr_format)) {
      continue;
    }
    taken.push_back(std::move(offer));
  }
  if (std::ssize(taken) == count) return taken;
  return fail(Code::kMissing, text("--raw-rails %d: libfabric offers %zu NIC%s of provider %s on one network here",
                                   count, taken.size(), taken.size() == 1 ? "" : "s", taken[0].provider().c_str()));
}

}  // namespace

Result<std::unique_ptr<RawWire>> RawWire::create(const RawChoice& choice, Rendezvous& rendezvous,
                                                 const WireBuffers& buffers) {
  TRY(fabric::Library library, fabric::Library::open(choice.library));
  TRY(std::vector<fabric::Info> offers,
      library.discover({.caps = FI_MSG | (choice.one_sided ? FI_RMA : FI_TAGGED), .provider = choice.provider}));
  // The direct fabric of EFA first, as Weft takes it.
  std::ranges::stable_partition(offers, [](const fabric::Info& info) { return info.fabric() == "efa-direct"; });
  TRY(const std::size_t index, choose(offers, choice));
  TRY(std::vector<fabric::Info> infos, spread(std::move(offers), index, choice.rails));
  std::unique_ptr<RawWire> wire(new RawWire(std::move(library), choice.one_sided, buffers));
  TRY_VOID(wire->open(std::move(infos), rendezvous));
  return wire;
}

Status RawWire::open(std::vector<fabric::Info> infos, Rendezvous& rendezvous) {
  peer_rank_ = 1 - rendezvous.rank();
  const auto peer = static_cast<std::size_t>(peer_rank_);
  for (fabric::Info& info : infos) {
    TRY(auto rail, RawRail::open(library_, std::move(info), one_sided_, *buffers_));
    TRY(const std::vector<std::byte> mine, rail->address());
    TRY(const std::vector<Bytes> addresses, rendezvous.all_gather(mine));
    TRY(const auto memories, rendezvous.all_gather_value(rail->memory()));
    TRY_VOID(rail->connect(addresses[peer], memories[peer]));
    rails_.push_back(std::move(rail));
  }
  return {};
}

PostStatus RawWire::status_of(ssize_t rc, const char* call) {
  if (rc == 0) return PostStatus::kPosted;
  if (rc == -FI_EAGAIN) return PostStatus::kAgain;
  error_ = rails_[next_rail_]->error(call, rc);
  return PostStatus::kFailed;
}

TestStatus RawWire::queue_failed(const RawRail& rail, ssize_t rc) {
  fabric::CompletionError completion;
  if (rc == -FI_EAVAIL && rail.queue().read_error(completion)) {
    error_ = Error{Code::kRemote, completion.error,
                   text("%s failed: %s", what().c_str(), library_.strerror(completion.error))};
  } else {
    error_ = rail.error("fi_cq_read", rc);
  }
  return TestStatus::kFailed;
}

std::string RawWire::description() const {
  std::string domains;
  for (const auto& rail : rails_) domains += (domains.empty() ? "" : " + ") + rail->info().domain();
  return text("%s on %s (%s), libfabric %s (%s)", rails_[0]->info().provider().c_str(), domains.c_str(),
              one_sided_ ? "writes with immediate data" : "tagged messages",
              fabric::version_string(library_.version()).c_str(), library_.path().c_str());
}

}  // namespace weft::bench
