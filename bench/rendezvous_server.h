// Rank 0's side of the rendezvous: waits for all ranks, gathers and hands out their messages, and tells everybody when
// a rank fails. A thread of its own that sleeps in poll(), so it costs nothing while data moves.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/frame.h"
#include "bench/socket.h"
#include "weft/result.h"

namespace weft::bench {

class RendezvousServer {
 public:
  /// Serves `size` ranks on `listener`. `limit`: how long they may take to arrive; after that, kBarrierLimits times as
  /// long is what the last may come later than the first to a gather or barrier. Who is late fails the run by name.
  static std::unique_ptr<RendezvousServer> start(Descriptor listener, int size, std::chrono::milliseconds limit);

  /// Waits until all ranks have left, at most 5 s.
  ~RendezvousServer();
  RendezvousServer(const RendezvousServer&) = delete;
  RendezvousServer& operator=(const RendezvousServer&) = delete;

 private:
  /// A connection; a rank only once it has said a hello that fits.
  struct Client {
    Descriptor fd;
    FrameReader reader;
    Clock::time_point since;
    std::string address;
    int rank = -1;
    bool gone = false;  ///< to be forgotten after this round
  };
  /// A rank: who it is, and its part of the gather that is going on.
  struct Rank {
    Client* client = nullptr;
    std::string who;  ///< "rank 3 (pid 17 on host)"
    bool left = false;
    bool has_part = false;
    Bytes part;
  };

  RendezvousServer(Descriptor listener, Descriptor stop, int size, std::chrono::milliseconds limit);

  void serve();
  void accept_one();
  void read_from(Client& client);
  void handle(Client& client, const FrameHeader& header);
  void welcome(Client& client, const FrameHeader& header);
  void take_part(Client& client, const FrameHeader& header);
  void lose(Client& client, const char* why);
  void check_limits();
  void fail_all(int culprit, const std::string& what);
  void send_to(Rank& rank, const FrameHeader& header, std::span<const std::byte> payload);
  std::string missing_ranks() const;
  bool all_left() const;

  // Touched by the server's thread only.
  Descriptor listener_;
  std::chrono::milliseconds limit_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<Rank> ranks_;
  std::size_t arrived_ = 0;
  std::uint32_t gather_ = 0;  ///< the sequence number of the gather that is going on
  std::size_t parts_ = 0;
  Clock::time_point deadline_;  ///< of arrival, or of the gather that is going on
  bool failed_ = false;

  Descriptor stop_;  ///< readable: the owner wants to end
  std::thread thread_;
};

}  // namespace weft::bench
