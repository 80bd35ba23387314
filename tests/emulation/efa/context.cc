#include "tests/emulation/efa/context.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tests/emulation/efa/peers.h"
#include "tests/emulation/efa/reply.h"
#include "tests/emulation/efa/settings.h"

namespace weft::emulation::efa {
namespace {

constexpr uint32_t kVendorAmazon = 0x1d0f;

int query_port(ibv_context* context, uint8_t port, ibv_port_attr* attributes, size_t size) {
  if (port != 1) return EINVAL;
  ibv_port_attr answer{};
  // Guess: the port of a NIC that failed is down.
  answer.state = Context::of(context)->shared().knobs.fail_status != 0 ? IBV_PORT_DOWN : IBV_PORT_ACTIVE;
  answer.max_mtu = answer.active_mtu = IBV_MTU_4096;
  answer.gid_tbl_len = 1;
  answer.max_msg_sz = settings().mtu;
  answer.pkey_tbl_len = 1;
  answer.max_vl_num = 1;
  answer.active_width = 2;   // 4X
  answer.active_speed = 32;  // EDR: 100 Gbit/s
  answer.phys_state = 5;     // link up
  answer.link_layer = IBV_LINK_LAYER_UNSPECIFIED;
  memcpy(static_cast<void*>(attributes), &answer, std::min(size, sizeof answer));
  return 0;
}

}  // namespace

Context::Context(Device* device, SharedDevice* shared)
    : shared_(shared),
      // Protection domains of two processes of the host must differ: the NIC's tables are theirs together.
      next_protection_domain_((static_cast<uint32_t>(getpid()) & 0xffff) << 12 | 1) {
  verbs_.sz = sizeof verbs_;
  verbs_.query_port = query_port;
  verbs_.create_cq_ex = create_completion_queue;
  verbs_.create_qp_ex = create_datagram_pair;
  ibv_context& context = verbs_.context;
  context.device = &device->verbs;
  context.abi_compat = __VERBS_ABI_IS_EXTENDED;
  context.cmd_fd = context.async_fd = -1;
  context.num_comp_vectors = 2;
  context.ops.poll_cq = poll_completion_queue;
  context.ops.req_notify_cq = request_notification;
  context.ops.post_send = post_send;
  context.ops.post_recv = post_receive;
  pthread_mutex_init(&context.mutex, nullptr);
}

Context* Context::of(ibv_context* context) {
  return reinterpret_cast<Context*>(reinterpret_cast<char*>(verbs_get_ctx(context)) - offsetof(Context, verbs_));
}

void Context::add(QueuePair* pair, uint32_t number) {
  const std::lock_guard guard(mutex_);
  pairs_[number & (kMaxQueuePairs - 1)] = {pair, number};
}

void Context::remove(uint32_t number) {
  const std::lock_guard guard(mutex_);
  pairs_[number & (kMaxQueuePairs - 1)] = {};
}

}  // namespace weft::emulation::efa

using namespace weft::emulation::efa;

WEFT_VERBS ibv_context* ibv_open_device(ibv_device* verbs) {
  auto* device = reinterpret_cast<Device*>(verbs);
  SharedDevice* shared = open_own_device(device->gid);
  if (shared == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  return (new Context(device, shared))->verbs();
}

WEFT_VERBS int ibv_close_device(ibv_context* context) {
  delete Context::of(context);
  return 0;
}

WEFT_VERBS int ibv_query_device(ibv_context*, ibv_device_attr* attributes) {
  memset(attributes, 0, sizeof *attributes);
  strcpy(attributes->fw_ver, "emulated");
  attributes->vendor_id = kVendorAmazon;
  attributes->vendor_part_id = settings().part_id;
  attributes->hw_ver = 0xefa;
  attributes->max_mr_size = 1ull << 40;
  attributes->page_size_cap = 0xfffff000;
  attributes->max_qp = kMaxQueuePairs;
  attributes->max_qp_wr = static_cast<int>(settings().max_sends);
  attributes->max_sge = kMaxSegments;
  attributes->max_sge_rd = 1;
  attributes->max_cq = 2048;
  attributes->max_cqe = static_cast<int>(settings().max_completions);
  attributes->max_mr = kMaxMemoryRegions;
  attributes->max_pd = 1024;
  attributes->max_ah = kMaxAddressHandles;
  attributes->phys_port_cnt = 1;
  attributes->max_pkeys = 1;
  return 0;
}

WEFT_VERBS int ibv_query_port(ibv_context* context, uint8_t port, _compat_ibv_port_attr* attributes) {
  return query_port(context, port, reinterpret_cast<ibv_port_attr*>(attributes),
                    offsetof(ibv_port_attr, port_cap_flags2));
}

WEFT_VERBS int ibv_query_gid(ibv_context* context, uint8_t port, int index, ibv_gid* gid) {
  if (port != 1 || index != 0) return EINVAL;
  memcpy(gid->raw, Context::of(context)->gid().data(), sizeof gid->raw);
  return 0;
}

WEFT_VERBS int ibv_query_pkey(ibv_context*, uint8_t, int, __be16* key) {
  *key = 0xffff;
  return 0;
}

WEFT_VERBS int efadv_query_device(ibv_context*, efadv_device_attr* attributes, uint32_t size) {
  efadv_device_attr answer{};
  answer.max_sq_wr = settings().max_sends;
  answer.max_rq_wr = settings().max_receives;
  answer.max_sq_sge = kMaxSegments;
  answer.max_rq_sge = kMaxSegments;
  answer.inline_buf_size = 32;
  answer.device_caps = settings().capabilities;
  answer.max_rdma_size = settings().max_rdma;
  return reply(attributes, answer, size);
}
