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

template <class T>
std::unique_ptr<T> boxed(T&& value) {
  return std::make_unique<T>(std::forward<T>(value));
}

}  // namespace

Result<std::unique_ptr<RawWire>> RawWire::create(const RawChoice& choice, Rendezvous& rendezvous, std::size_t bytes) {
  TRY(fabric::Library library, fabric::Library::open(choice.library));
  TRY(std::vector<fabric::Info> offers,
      library.discover({.caps = FI_MSG | (choice.one_sided ? FI_RMA : FI_TAGGED), .provider = choice.provider}));
  // The direct fabric of EFA first, as Weft takes it.
  std::ranges::stable_partition(offers, [](const fabric::Info& info) { return info.fabric() == "efa-direct"; });
  TRY(const std::size_t index, choose(offers, choice));
  std::unique_ptr<RawWire> wire(new RawWire(std::move(library), std::move(offers[index]), choice.one_sided));
  TRY_VOID(wire->open(rendezvous, bytes));
  return wire;
}

Status RawWire::open(Rendezvous& rendezvous, std::size_t bytes) {
  TRY(fabric::Domain domain, fabric::Domain::open(library_, info_));
  domain_ = boxed(std::move(domain));
  TRY(fabric::CompletionQueue queue, fabric::CompletionQueue::open(*domain_, one_sided_ ? kOneSidedEntries : 0));
  queue_ = boxed(std::move(queue));
  TRY(fabric::AddressVector addresses, fabric::AddressVector::open(*domain_));
  addresses_ = boxed(std::move(addresses));
  TRY(fabric::Endpoint endpoint, fabric::Endpoint::open(*domain_, *queue_, *addresses_));
  endpoint_ = boxed(std::move(endpoint));
  TRY(buffers_, WireBuffers::allocate(bytes));
  if (one_sided_ || domain_->needs_local_registration()) TRY_VOID(register_buffers());

  TRY(const std::vector<std::byte> mine, endpoint_->address());
  TRY(const std::vector<Bytes> all, rendezvous.all_gather(mine));
  peer_rank_ = 1 - rendezvous.rank();
  TRY(peer_, addresses_->insert(all[static_cast<std::size_t>(peer_rank_)]));
  if (one_sided_) {
    const fabric::RemoteMemory receive{
        domain_->uses_virtual_addresses() ? reinterpret_cast<std::uint64_t>(buffers_.receive.data()) : 0,
        regions_.back().key()};
    TRY(const auto memories, rendezvous.all_gather_value(receive));
    remote_ = memories[static_cast<std::size_t>(peer_rank_)];
  }
  return {};
}

Status RawWire::register_buffers() {
  const std::uint64_t access = one_sided_ ? FI_WRITE | FI_REMOTE_WRITE : FI_SEND | FI_RECV;
  for (const auto& [buffer, descriptor] :
       {std::pair(&buffers_.send, &send_descriptor_), std::pair(&buffers_.receive, &receive_descriptor_)}) {
    const fabric::MemoryRequest request{.data = buffer->data(), .size = buffer->size()};
    TRY(fabric::MemoryRegion region, fabric::MemoryRegion::open(*domain_, request, access));
    *descriptor = region.descriptor();
    regions_.push_back(std::move(region));
  }
  return {};
}

PostStatus RawWire::status_of(ssize_t rc, const char* call) {
  if (rc == 0) return PostStatus::kPosted;
  if (rc == -FI_EAGAIN) return PostStatus::kAgain;
  error_ = domain_->error(call, static_cast<int>(rc));
  return PostStatus::kFailed;
}

TestStatus RawWire::queue_failed(ssize_t rc) {
  fabric::CompletionError completion;
  if (rc == -FI_EAVAIL && queue_->read_error(completion)) {
    error_ = Error{Code::kRemote, completion.error,
                   text("%s failed: %s", what().c_str(), library_.strerror(completion.error))};
  } else {
    error_ = domain_->error("fi_cq_read", static_cast<int>(rc));
  }
  return TestStatus::kFailed;
}

std::string RawWire::description() const {
  return text("%s on %s (%s), libfabric %s (%s)", info_.provider().c_str(), info_.domain().c_str(),
              one_sided_ ? "writes with immediate data" : "tagged messages",
              fabric::version_string(library_.version()).c_str(), library_.path().c_str());
}

}  // namespace weft::bench
