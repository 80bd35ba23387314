#include "tests/emulation/efa/tests/station.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <stdexcept>

namespace weft::emulation::efa {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kLimit = std::chrono::seconds(120);

void check(long result, const std::string& call) {
  if (result < 0) throw std::runtime_error(call + ": " + fi_strerror(static_cast<int>(-result)));
}

template <class T>
void close(T* object) {
  if (object != nullptr) fi_close(&object->fid);
}

fi_info* find(const std::string& fabric, uint32_t nic) {
  const std::unique_ptr<fi_info, decltype(&fi_freeinfo)> hints(fi_allocinfo(), fi_freeinfo);
  hints->caps = FI_MSG | FI_RMA;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->fabric_attr->prov_name = strdup("efa");
  hints->fabric_attr->name = strdup(fabric.c_str());
  hints->domain_attr->name = strdup(("efa_" + std::to_string(nic) + "-rdm").c_str());
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  fi_info* found = nullptr;
  check(fi_getinfo(FI_VERSION(2, 0), nullptr, nullptr, 0, hints.get(), &found), "fi_getinfo(" + fabric + ")");
  return found;
}

}  // namespace

Station::Station(const std::string& fabric, uint32_t nic) : inbox_(kBuffer), outbox_(kBuffer) {
  info_ = find(fabric, nic);
  check(fi_fabric(info_->fabric_attr, &fabric_, nullptr), "fi_fabric");
  check(fi_domain(fabric_, info_, &domain_, nullptr), "fi_domain");
  fi_cq_attr cq{};
  cq.format = FI_CQ_FORMAT_DATA;
  cq.size = 4096;
  fi_av_attr av{};
  av.type = FI_AV_TABLE;
  check(fi_cq_open(domain_, &cq, &completions_, nullptr), "fi_cq_open");
  check(fi_av_open(domain_, &av, &addresses_, nullptr), "fi_av_open");
  check(fi_endpoint(domain_, info_, &endpoint_, nullptr), "fi_endpoint");
  check(fi_ep_bind(endpoint_, &addresses_->fid, 0), "fi_ep_bind(av)");
  check(fi_ep_bind(endpoint_, &completions_->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind(cq)");
  check(fi_enable(endpoint_), "fi_enable");
  size_t size = sizeof card_.name;
  check(fi_getname(&endpoint_->fid, card_.name, &size), "fi_getname");
  check(fi_mr_reg(domain_, inbox_.data(), kBuffer, FI_REMOTE_WRITE | FI_RECV, 0, 0, 0, &inbox_region_, nullptr),
        "fi_mr_reg(inbox)");
  check(fi_mr_reg(domain_, outbox_.data(), kBuffer, FI_WRITE | FI_SEND, 0, 0, 0, &outbox_region_, nullptr),
        "fi_mr_reg(outbox)");
  card_.key = fi_mr_key(inbox_region_);
  card_.address = reinterpret_cast<uint64_t>(inbox_.data());
}

Station::~Station() {
  close(endpoint_);
  close(completions_);
  close(addresses_);
  close(dma_buf_region_);
  close(inbox_region_);
  close(outbox_region_);
  close(domain_);
  close(fabric_);
  if (info_ != nullptr) fi_freeinfo(info_);
}

void Station::connect(const Card& peer) {
  peer_card_ = peer;
  check(fi_av_insert(addresses_, peer.name, 1, &peer_, 0, nullptr) == 1 ? 0 : -FI_EINVAL, "fi_av_insert");
}

bool Station::write(uint64_t immediate, size_t offset, size_t length, uint64_t wrong_key) {
  // Contexts of writes that vanish are never given back: each write has its own.
  fi_context2* context = &contexts_.emplace_back();
  const auto end = Clock::now() + kLimit;
  for (;;) {
    const ssize_t result =
        fi_writedata(endpoint_, outbox_.data() + offset, length, fi_mr_desc(outbox_region_), immediate, peer_,
                     peer_card_.address + offset, wrong_key != 0 ? wrong_key : peer_card_.key, context);
    if (result != -FI_EAGAIN) check(result, "fi_writedata");
    if (result == 0) return true;
    if (Clock::now() > end) return false;
    progress();
    sched_yield();
  }
}

void Station::progress() {
  fi_cq_data_entry entries[16];
  const ssize_t count = fi_cq_read(completions_, entries, std::size(entries));
  for (ssize_t i = 0; i < count; ++i) {
    Event& event = events_.emplace_back();
    event.flags = entries[i].flags;
    event.data = entries[i].data;
    event.length = entries[i].len;
  }
  if (count != -FI_EAVAIL) return;
  fi_cq_err_entry entry{};
  if (fi_cq_readerr(completions_, &entry, 0) != 1) return;
  Event& event = events_.emplace_back();
  event.flags = entry.flags;
  event.error = entry.err;
  event.device_error = entry.prov_errno;
}

void Station::register_dma_buf(int fd, void* mapped, size_t length) {
  fi_mr_dmabuf buffer{};
  buffer.fd = fd;
  buffer.len = length;
  buffer.base_addr = mapped;
  fi_mr_attr attributes{};
  attributes.dmabuf = &buffer;
  attributes.iov_count = 1;
  attributes.access = FI_REMOTE_WRITE | FI_RECV;
  check(fi_mr_regattr(domain_, &attributes, FI_MR_DMABUF, &dma_buf_region_), "fi_mr_regattr(dma-buf)");
  card_.key = fi_mr_key(dma_buf_region_);
  card_.address = reinterpret_cast<uint64_t>(mapped);
}

bool run_until(const std::vector<Station*>& stations, const std::function<bool()>& done) {
  const auto end = Clock::now() + kLimit;
  while (!done()) {
    if (Clock::now() > end) return false;
    for (Station* station : stations) station->progress();
    sched_yield();
  }
  return true;
}

}  // namespace weft::emulation::efa
