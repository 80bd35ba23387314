#include "bench/rendezvous_server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "bench/text.h"

namespace weft::bench {
namespace {

// A stranger who says nothing is dropped after this.
constexpr auto kHelloLimit = std::chrono::seconds(5);
constexpr std::size_t kMaxStrangers = 128;
constexpr auto kGoodbyeLimit = std::chrono::seconds(5);

void note(const std::string& line) { std::fprintf(stderr, "rendezvous: %s\n", line.c_str()); }

std::span<const std::byte> bytes_of(const std::string& line) { return std::as_bytes(std::span(line)); }

}  // namespace

RendezvousServer::RendezvousServer(Descriptor listener, Descriptor stop, int size, std::chrono::milliseconds limit)
    : listener_(std::move(listener)),
      limit_(limit),
      ranks_(static_cast<std::size_t>(size)),
      deadline_(Clock::now() + limit),
      stop_(std::move(stop)) {}

std::unique_ptr<RendezvousServer> RendezvousServer::start(Descriptor listener, int size,
                                                          std::chrono::milliseconds limit) {
  std::unique_ptr<RendezvousServer> server(
      new RendezvousServer(std::move(listener), Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), size, limit));
  server->thread_ = std::thread([raw = server.get()] { raw->serve(); });
  return server;
}

RendezvousServer::~RendezvousServer() {
  eventfd_write(stop_.get(), 1);
  thread_.join();
}

void RendezvousServer::serve() {
  bool stopping = false;
  Clock::time_point stop_deadline{};
  while (true) {
    std::vector<pollfd> wait{{stopping ? -1 : stop_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    for (const auto& client : clients_) wait.push_back({client->fd.get(), POLLIN, 0});
    // The limits are looked at a few times a second, which is as exact as they need to be.
    constexpr int kTickMs = 200;
    poll(wait.data(), wait.size(), kTickMs);
    if (wait[0].revents != 0 && !stopping) {
      stopping = true;
      stop_deadline = Clock::now() + kGoodbyeLimit;
    }
    for (std::size_t i = 2; i < wait.size(); ++i) {
      if (wait[i].revents != 0) read_from(*clients_[i - 2]);
    }
    if (wait[1].revents != 0) accept_one();
    check_limits();
    std::erase_if(clients_, [](const auto& client) { return client->gone; });
    if (stopping && (all_left() || Clock::now() >= stop_deadline)) return;
  }
}

void RendezvousServer::accept_one() {
  Descriptor fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd) return;
  const int on = 1;
  setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  std::string address = peer_text(fd.get());
  if (clients_.size() >= ranks_.size() + kMaxStrangers) {
    note("closed a connection from " + address + ": too many strangers");
    return;
  }
  clients_.push_back(std::make_unique<Client>(
      Client{.fd = std::move(fd), .reader = {}, .since = Clock::now(), .address = std::move(address)}));
}

void RendezvousServer::read_from(Client& client) {
  while (!client.gone) {
    switch (client.reader.read(client.fd.get(), client.rank < 0 ? kMaxHello : kMaxPayload)) {
      case ReadState::kMore: return;
      case ReadState::kFrame: handle(client, client.reader.header()); break;
      case ReadState::kClosed: lose(client, "its connection closed"); return;
      case ReadState::kGarbage: lose(client, "it sent something that is not the rendezvous protocol"); return;
    }
  }
}

void RendezvousServer::handle(Client& client, const FrameHeader& header) {
  if (client.rank < 0) return welcome(client, header);
  switch (header.kind) {
    case FrameKind::kGather: take_part(client, header); break;
    case FrameKind::kFailure: {
      const auto payload = client.reader.payload();
      fail_all(client.rank, std::string(reinterpret_cast<const char*>(payload.data()), payload.size()));
      break;
    }
    case FrameKind::kGoodbye:
      ranks_[static_cast<std::size_t>(client.rank)].left = true;
      ranks_[static_cast<std::size_t>(client.rank)].client = nullptr;
      client.gone = true;
      break;
    default: lose(client, "it sent a message out of turn");
  }
}

void RendezvousServer::welcome(Client& client, const FrameHeader& header) {
  const auto refuse = [&](const std::string& why) {
    (void)write_frame(client.fd.get(), {.kind = FrameKind::kRefused}, bytes_of(why));
    note("refused " + client.address + ": " + why);
    client.gone = true;
  };
  if (header.kind != FrameKind::kHello) return lose(client, "it did not begin with a hello");
  const auto size = static_cast<int>(ranks_.size());
  if (header.value != ranks_.size()) return refuse(text("this run has %d ranks, not %u", size, header.value));
  if (header.rank < 0 || header.rank >= size) return refuse(text("there is no rank %d among %d", header.rank, size));
  Rank& rank = ranks_[static_cast<std::size_t>(header.rank)];
  if (rank.client != nullptr || rank.left) {
    return refuse(
        text("rank %d is already here: %s; two processes were given the same rank", header.rank, rank.who.c_str()));
  }
  const auto payload = client.reader.payload();
  client.rank = header.rank;
  rank.client = &client;
  rank.who = text("rank %d (%.*s)", header.rank, static_cast<int>(payload.size()),
                  reinterpret_cast<const char*>(payload.data()));
  ++arrived_;
}

void RendezvousServer::take_part(Client& client, const FrameHeader& header) {
  Rank& rank = ranks_[static_cast<std::size_t>(client.rank)];
  if (rank.has_part || header.value != gather_) return lose(client, "it is out of step with the other ranks");
  if (parts_ == 0 && arrived_ == ranks_.size()) deadline_ = Clock::now() + kBarrierLimits * limit_;
  rank.has_part = true;
  const auto payload = client.reader.payload();
  rank.part.assign(payload.begin(), payload.end());
  if (++parts_ < ranks_.size()) return;

  std::vector<Bytes> parts;
  for (Rank& each : ranks_) {
    parts.push_back(std::exchange(each.part, {}));
    each.has_part = false;
  }
  const Bytes packed = pack(parts);
  const FrameHeader answer{.kind = FrameKind::kGather, .value = gather_};
  parts_ = 0;
  ++gather_;
  for (Rank& each : ranks_) send_to(each, answer, packed);
}

void RendezvousServer::lose(Client& client, const char* why) {
  client.gone = true;
  if (client.rank < 0) {
    note("ignored a connection from " + client.address + ": " + why);
    return;
  }
  Rank& rank = ranks_[static_cast<std::size_t>(client.rank)];
  rank.client = nullptr;
  rank.left = true;
  fail_all(client.rank, rank.who + " is gone: " + why);
}

void RendezvousServer::check_limits() {
  const auto now = Clock::now();
  for (const auto& client : clients_) {
    if (client->rank < 0 && !client->gone && now >= client->since + kHelloLimit) lose(*client, "it said nothing");
  }
  const double seconds = std::chrono::duration<double>(limit_).count();
  if (failed_ || now < deadline_) return;
  if (arrived_ < ranks_.size()) {
    fail_all(-1, text("%s did not arrive within %g s", missing_ranks().c_str(), seconds));
  } else if (parts_ > 0) {
    fail_all(-1, text("%s did not come to the barrier within %g s of the others", missing_ranks().c_str(),
                      kBarrierLimits * seconds));
  }
}

void RendezvousServer::fail_all(int culprit, const std::string& what) {
  // Only the first failure is the cause; what follows are its consequences.
  if (std::exchange(failed_, true)) return;
  const FrameHeader header{.kind = FrameKind::kFailure, .rank = culprit};
  Rank* culprit_rank = culprit >= 0 ? &ranks_[static_cast<std::size_t>(culprit)] : nullptr;
  // The culprit comes after the others, since it waits for its own report to return before it ends; and rank 0 after
  // all, since this server ends with it.
  for (Rank& rank : ranks_) {
    if (&rank != culprit_rank && &rank != &ranks_.front()) send_to(rank, header, bytes_of(what));
  }
  if (culprit_rank != nullptr && culprit_rank != &ranks_.front()) send_to(*culprit_rank, header, bytes_of(what));
  send_to(ranks_.front(), header, bytes_of(what));
}

void RendezvousServer::send_to(Rank& rank, const FrameHeader& header, std::span<const std::byte> payload) {
  if (rank.client == nullptr || rank.client->gone) return;
  Client& client = *rank.client;
  if (!write_frame(client.fd.get(), header, payload)) lose(client, "its connection broke");
}

std::string RendezvousServer::missing_ranks() const {
  std::string list;
  int count = 0;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const bool here = arrived_ < ranks_.size() ? !ranks_[i].who.empty() : ranks_[i].has_part;
    if (here) continue;
    constexpr int kNamed = 16;
    if (++count <= kNamed) list += (list.empty() ? "" : ", ") + std::to_string(i);
    if (count == kNamed + 1) list += ", ...";
  }
  return (count == 1 ? "rank " : "ranks ") + list;
}

bool RendezvousServer::all_left() const {
  return std::ranges::all_of(ranks_, [](const Rank& rank) { return rank.client == nullptr; });
}

}  // namespace weft::bench
