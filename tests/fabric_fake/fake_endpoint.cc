// The fake's endpoint: set-up calls, and the verbs' way into the network.
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include <mutex>

#include "tests/fabric_fake/fake_address.h"
#include "tests/fabric_fake/network.h"

namespace weft::test {
namespace {

FakeEndpoint& endpoint_of(fid* raw) noexcept { return object_of<FakeEndpoint, fid_ep>(raw); }

int close_endpoint(fid* raw) {
  auto& ep = endpoint_of(raw);
  const std::lock_guard guard(ep.network.lock);
  return ep.network.close(ep);
}

int bind(fid* raw, fid* other, std::uint64_t flags) {
  auto& ep = endpoint_of(raw);
  const std::lock_guard guard(ep.network.lock);
  if (const int rc = ep.network.setup(SetupCall::kBind); rc != 0) return rc;
  if (ep.state != FakeEndpoint::State::kFresh) return -FI_EOPBADSTATE;
  if (other->fclass == FI_CLASS_AV && ep.av == nullptr) {
    ep.av = &object_of<FakeAv, fid_av>(other);
    ++ep.av->dependents;
    return 0;
  }
  // One queue for both directions is all that Weft asks for.
  if (other->fclass == FI_CLASS_CQ && ep.cq == nullptr && flags == (FI_TRANSMIT | FI_RECV)) {
    ep.cq = &object_of<FakeCq, fid_cq>(other);
    ++ep.cq->dependents;
    return 0;
  }
  return -FI_EINVAL;
}

int control(fid* raw, int command, void*) {
  auto& ep = endpoint_of(raw);
  const std::lock_guard guard(ep.network.lock);
  if (command != FI_ENABLE) return -FI_ENOSYS;
  if (const int rc = ep.network.setup(SetupCall::kEnable); rc != 0) return rc;
  if (ep.av == nullptr) return -FI_ENOAV;
  if (ep.cq == nullptr) return -FI_ENOCQ;
  ep.state = FakeEndpoint::State::kEnabled;
  return 0;
}

int get_name(fid* raw, void* out, std::size_t* size) {
  auto& ep = endpoint_of(raw);
  const std::lock_guard guard(ep.network.lock);
  if (const int rc = ep.network.setup(SetupCall::kGetName); rc != 0) return rc;
  if (ep.state == FakeEndpoint::State::kFresh) return -FI_EOPBADSTATE;
  const std::size_t room = *size;
  write_address(ep.number, out, room);
  *size = kFakeAddressBytes;
  return room < kFakeAddressBytes ? -FI_ETOOSMALL : 0;
}

ssize_t cancel(fid* raw, void* context) {
  auto& ep = endpoint_of(raw);
  const Entry entry(ep.network, ep.cq);
  return ep.network.cancel(ep, context);
}

ssize_t post_send(fid_ep* raw, Verb verb, const void* data, std::size_t size, void* descriptor, fi_addr_t to,
                  std::uint64_t tag, void* context) {
  auto& ep = static_cast<FakeEndpoint&>(*raw);
  const Entry entry(ep.network, ep.cq);
  const std::size_t peer = ep.av != nullptr ? ep.av->endpoint_of(to) : 0;
  if (peer == 0) {
    ep.network.complain("a send to an address that is not in the address vector");
    return -FI_EINVAL;
  }
  return ep.network.send(ep, {verb, ep.number, peer, data, size, tag}, descriptor, context);
}

ssize_t post_one_sided(fid_ep* raw, Verb verb, const void* data, std::size_t size, void* descriptor, fi_addr_t to,
                       std::uint64_t remote, std::uint64_t key, std::uint64_t immediate, void* context) {
  auto& ep = static_cast<FakeEndpoint&>(*raw);
  const Entry entry(ep.network, ep.cq);
  const std::size_t peer = ep.av != nullptr ? ep.av->endpoint_of(to) : 0;
  if (peer == 0) {
    ep.network.complain("a one-sided operation with an address that is not in the address vector");
    return -FI_EINVAL;
  }
  const PostEvent event = {verb, ep.number, peer, data, size, 0, remote, key, static_cast<std::uint32_t>(immediate)};
  return ep.network.send(ep, event, descriptor, context);
}

ssize_t post_receive(fid_ep* raw, void* descriptor, fi_addr_t from, PostedReceive wanted) {
  auto& ep = static_cast<FakeEndpoint&>(*raw);
  const Entry entry(ep.network, ep.cq);
  if (from != FI_ADDR_UNSPEC && ep.av != nullptr) wanted.from = ep.av->endpoint_of(from);
  const Verb verb = wanted.tagged ? Verb::kTaggedReceive : Verb::kReceive;
  return ep.network.receive(ep, {verb, ep.number, 0, wanted.data, wanted.size, wanted.tag}, wanted, descriptor);
}

ssize_t send(fid_ep* ep, const void* data, std::size_t size, void* descriptor, fi_addr_t to, void* context) {
  return post_send(ep, Verb::kSend, data, size, descriptor, to, 0, context);
}

ssize_t tagged_send(fid_ep* ep, const void* data, std::size_t size, void* descriptor, fi_addr_t to, std::uint64_t tag,
                    void* context) {
  return post_send(ep, Verb::kTaggedSend, data, size, descriptor, to, tag, context);
}

ssize_t receive(fid_ep* ep, void* data, std::size_t size, void* descriptor, fi_addr_t from, void* context) {
  PostedReceive wanted;
  wanted.data = data;
  wanted.size = size;
  wanted.context = context;
  return post_receive(ep, descriptor, from, wanted);
}

ssize_t tagged_receive(fid_ep* ep, void* data, std::size_t size, void* descriptor, fi_addr_t from, std::uint64_t tag,
                       std::uint64_t ignore, void* context) {
  PostedReceive wanted;
  wanted.data = data;
  wanted.size = size;
  wanted.context = context;
  wanted.tag = tag;
  wanted.ignore = ignore;
  wanted.tagged = true;
  return post_receive(ep, descriptor, from, wanted);
}

ssize_t write(fid_ep* ep, const void* data, std::size_t size, void* descriptor, fi_addr_t to, std::uint64_t remote,
              std::uint64_t key, void* context) {
  return post_one_sided(ep, Verb::kWrite, data, size, descriptor, to, remote, key, 0, context);
}

ssize_t write_data(fid_ep* ep, const void* data, std::size_t size, void* descriptor, std::uint64_t immediate,
                   fi_addr_t to, std::uint64_t remote, std::uint64_t key, void* context) {
  return post_one_sided(ep, Verb::kWriteData, data, size, descriptor, to, remote, key, immediate, context);
}

ssize_t read(fid_ep* ep, void* data, std::size_t size, void* descriptor, fi_addr_t from, std::uint64_t remote,
             std::uint64_t key, void* context) {
  return post_one_sided(ep, Verb::kRead, data, size, descriptor, from, remote, key, 0, context);
}

fi_ops* fid_ops() {
  static fi_ops ops = [] {
    fi_ops made{};
    made.size = sizeof made;
    made.close = close_endpoint;
    made.bind = bind;
    made.control = control;
    unsupported(made.ops_open);
    return made;
  }();
  return &ops;
}

fi_ops_ep* ep_ops() {
  static fi_ops_ep ops = [] {
    fi_ops_ep made{};
    made.size = sizeof made;
    made.cancel = cancel;
    unsupported(made.getopt);
    unsupported(made.setopt);
    unsupported(made.tx_ctx);
    unsupported(made.rx_ctx);
    unsupported(made.rx_size_left);
    unsupported(made.tx_size_left);
    return made;
  }();
  return &ops;
}

fi_ops_cm* cm_ops() {
  static fi_ops_cm ops = [] {
    fi_ops_cm made{};
    made.size = sizeof made;
    unsupported(made.setname);
    made.getname = get_name;
    unsupported(made.getpeer);
    unsupported(made.connect);
    unsupported(made.listen);
    unsupported(made.accept);
    unsupported(made.reject);
    unsupported(made.shutdown);
    unsupported(made.join);
    return made;
  }();
  return &ops;
}

fi_ops_msg* msg_ops() {
  static fi_ops_msg ops = [] {
    fi_ops_msg made{};
    made.size = sizeof made;
    made.recv = receive;
    unsupported(made.recvv);
    unsupported(made.recvmsg);
    made.send = send;
    unsupported(made.sendv);
    unsupported(made.sendmsg);
    unsupported(made.inject);
    unsupported(made.senddata);
    unsupported(made.injectdata);
    return made;
  }();
  return &ops;
}

fi_ops_tagged* tagged_ops() {
  static fi_ops_tagged ops = [] {
    fi_ops_tagged made{};
    made.size = sizeof made;
    made.recv = tagged_receive;
    unsupported(made.recvv);
    unsupported(made.recvmsg);
    made.send = tagged_send;
    unsupported(made.sendv);
    unsupported(made.sendmsg);
    unsupported(made.inject);
    unsupported(made.senddata);
    unsupported(made.injectdata);
    return made;
  }();
  return &ops;
}

fi_ops_rma* rma_ops() {
  static fi_ops_rma ops = [] {
    fi_ops_rma made{};
    made.size = sizeof made;
    made.read = read;
    unsupported(made.readv);
    unsupported(made.readmsg);
    made.write = write;
    unsupported(made.writev);
    unsupported(made.writemsg);
    unsupported(made.inject);
    made.writedata = write_data;
    unsupported(made.injectdata);
    return made;
  }();
  return &ops;
}

}  // namespace

FakeEndpoint::FakeEndpoint(FakeDomain& domain, std::size_t which)
    : fid_ep{},
      Object(domain.network, "endpoint", &domain),
      nic(domain.nic),
      number(which),
      receives(std::make_unique<Pool<PostedReceive>>(domain.nic.rx_size)) {
  fid.fclass = FI_CLASS_EP;
  fid.ops = fid_ops();
  ops = ep_ops();
  cm = cm_ops();
  msg = msg_ops();
  rma = rma_ops();
  tagged = tagged_ops();
}

void FakeEndpoint::on_close() {
  network.kill(*this, State::kRefusing);
  receives.reset();
  if (av != nullptr) --av->dependents;
  if (cq != nullptr) --cq->dependents;
}

}  // namespace weft::test
