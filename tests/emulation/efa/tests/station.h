#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace weft::emulation::efa {

// What a completion queue of libfabric said.
struct Event {
  uint64_t flags = 0, data = 0;
  size_t length = 0;
  int error = 0, device_error = 0;  // of an error entry: err and prov_errno
  bool is_arrival() const { return error == 0 && (flags & FI_REMOTE_CQ_DATA) != 0; }
};

// How others reach a station: what goes between two processes.
struct Card {
  char name[64];
  uint64_t key, address;
};

// One endpoint of plain libfabric on one emulated NIC, with a buffer that peers may write to and one to write from.
class Station {
 public:
  static constexpr size_t kBuffer = 4 << 20;

  // Throws std::runtime_error with the call that failed.
  Station(const std::string& fabric, uint32_t nic);
  ~Station();
  Station(const Station&) = delete;
  Station& operator=(const Station&) = delete;

  Card card() const { return card_; }
  void connect(const Card& peer);

  std::vector<uint8_t>& inbox() { return inbox_; }
  std::vector<uint8_t>& outbox() { return outbox_; }

  // A write with immediate data from the outbox to the same offset of the peer's inbox. Progresses while it must wait;
  // false: it cannot be posted within the limit.
  bool write(uint64_t immediate, size_t offset, size_t length, uint64_t wrong_key = 0);
  // Reads what is there into the queue of events.
  void progress();
  std::deque<Event>& events() { return events_; }

  // A buffer behind a descriptor, in place of the inbox: peers then write there. Its card must be taken afterwards.
  void register_dma_buf(int fd, void* mapped, size_t length);

 private:
  fi_info* info_ = nullptr;
  fid_fabric* fabric_ = nullptr;
  fid_domain* domain_ = nullptr;
  fid_av* addresses_ = nullptr;
  fid_cq* completions_ = nullptr;
  fid_ep* endpoint_ = nullptr;
  fid_mr *inbox_region_ = nullptr, *outbox_region_ = nullptr, *dma_buf_region_ = nullptr;
  std::vector<uint8_t> inbox_, outbox_;
  std::deque<fi_context2> contexts_;
  std::deque<Event> events_;
  Card card_{}, peer_card_{};
  fi_addr_t peer_ = FI_ADDR_UNSPEC;
};

// Progresses all until `done`; false: the limit came first.
bool run_until(const std::vector<Station*>& stations, const std::function<bool()>& done);

}  // namespace weft::emulation::efa
