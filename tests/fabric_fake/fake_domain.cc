// The fake's fabric and domain: they make everything else. Memory regions too, which have no verbs of their own.
#include <rdma/fi_errno.h>
#include <sys/uio.h>

#include <mutex>

#include "tests/fabric_fake/network.h"

namespace weft::test {
namespace {

// The dma-buf flag and structure of libfabric 1.20 (rdma/fi_domain.h), for older headers.
constexpr std::uint64_t kDmaBufFlag = 1ULL << 40;
struct DmaBuf {
  int fd;
  std::uint64_t offset;
  std::size_t size;
  void* base;
};

template <class T, class Raw>
int close_object(fid* raw) {
  T& object = object_of<T, Raw>(raw);
  const std::lock_guard guard(object.network.lock);
  return object.network.close(object);
}

template <class T, class Raw>
fi_ops* plain_ops() {
  static fi_ops ops = [] {
    fi_ops made{};
    made.size = sizeof made;
    made.close = close_object<T, Raw>;
    unsupported(made.bind);
    unsupported(made.control);
    unsupported(made.ops_open);
    return made;
  }();
  return &ops;
}

int open_domain(fid_fabric* raw, fi_info* info, fid_domain** out, void* context) {
  auto& fabric = static_cast<FakeFabricObject&>(*raw);
  Network& network = fabric.network;
  const std::lock_guard guard(network.lock);
  if (const int rc = network.setup(SetupCall::kDomain); rc != 0) return rc;
  for (const FakeNic& nic : network.options.nics) {
    if (nic.name != info->domain_attr->name) continue;
    FakeDomain& domain = network.make<FakeDomain>(fabric, nic);
    domain.fid.context = context;
    *out = &domain;
    return 0;
  }
  return -FI_ENODATA;
}

fi_ops_fabric* fabric_ops() {
  static fi_ops_fabric ops = [] {
    fi_ops_fabric made{};
    made.size = sizeof made;
    made.domain = open_domain;
    unsupported(made.passive_ep);
    unsupported(made.eq_open);
    unsupported(made.wait_open);
    unsupported(made.trywait);
    return made;
  }();
  return &ops;
}

int open_av(fid_domain* raw, fi_av_attr* attributes, fid_av** out, void* context) {
  auto& domain = static_cast<FakeDomain&>(*raw);
  const std::lock_guard guard(domain.network.lock);
  if (const int rc = domain.network.setup(SetupCall::kAvOpen); rc != 0) return rc;
  if (attributes->type != FI_AV_TABLE && attributes->type != FI_AV_UNSPEC) return -FI_ENOSYS;
  FakeAv& av = domain.network.make<FakeAv>(domain);
  av.fid.context = context;
  *out = &av;
  return 0;
}

int open_cq(fid_domain* raw, fi_cq_attr* attributes, fid_cq** out, void* context) {
  auto& domain = static_cast<FakeDomain&>(*raw);
  const std::lock_guard guard(domain.network.lock);
  if (const int rc = domain.network.setup(SetupCall::kCqOpen); rc != 0) return rc;
  if (attributes->wait_obj != FI_WAIT_NONE) return -FI_ENOSYS;
  const std::size_t entries = attributes->size != 0 ? attributes->size : domain.network.options.cq_entries;
  FakeCq& cq = domain.network.make<FakeCq>(domain, entries, attributes->format);
  cq.fid.context = context;
  *out = &cq;
  return 0;
}

int open_endpoint(fid_domain* raw, fi_info*, fid_ep** out, void* context) {
  auto& domain = static_cast<FakeDomain&>(*raw);
  const std::lock_guard guard(domain.network.lock);
  if (const int rc = domain.network.setup(SetupCall::kEndpoint); rc != 0) return rc;
  FakeEndpoint& ep = domain.network.make_endpoint(domain);
  ep.fid.context = context;
  *out = &ep;
  return 0;
}

fi_ops_domain* domain_ops() {
  static fi_ops_domain ops = [] {
    fi_ops_domain made{};
    made.size = sizeof made;
    made.av_open = open_av;
    made.cq_open = open_cq;
    made.endpoint = open_endpoint;
    unsupported(made.scalable_ep);
    unsupported(made.cntr_open);
    unsupported(made.poll_open);
    unsupported(made.stx_ctx);
    unsupported(made.srx_ctx);
    unsupported(made.query_atomic);
    unsupported(made.query_collective);
    return made;
  }();
  return &ops;
}

int register_memory(fid* raw, const fi_mr_attr* attributes, std::uint64_t flags, fid_mr** out) {
  auto& domain = object_of<FakeDomain, fid_domain>(raw);
  Network& network = domain.network;
  const std::lock_guard guard(network.lock);
  if (const int rc = network.setup(SetupCall::kMrRegister); rc != 0) return rc;
  if (attributes->iov_count != 1 || (flags & ~kDmaBufFlag) != 0) return -FI_EINVAL;
  if (attributes->iface != FI_HMEM_SYSTEM && (domain.nic.caps & FI_HMEM) == 0) return -FI_EOPNOTSUPP;
  FakeMr& mr = network.make<FakeMr>(domain, *attributes, flags, network.next_key++);
  mr.fid.context = attributes->context;
  *out = &mr;
  return 0;
}

fi_ops_mr* mr_ops() {
  static fi_ops_mr ops = [] {
    fi_ops_mr made{};
    made.size = sizeof made;
    unsupported(made.reg);
    unsupported(made.regv);
    made.regattr = register_memory;
    return made;
  }();
  return &ops;
}

}  // namespace

FakeFabricObject::FakeFabricObject(Network& owner) : fid_fabric{}, Object(owner, "fabric", nullptr) {
  fid.fclass = FI_CLASS_FABRIC;
  fid.ops = plain_ops<FakeFabricObject, fid_fabric>();
  ops = fabric_ops();
  api_version = owner.options.version;
}

FakeDomain::FakeDomain(FakeFabricObject& fabric, const FakeNic& wanted)
    : fid_domain{}, Object(fabric.network, "domain", &fabric), nic(wanted) {
  fid.fclass = FI_CLASS_DOMAIN;
  fid.ops = plain_ops<FakeDomain, fid_domain>();
  ops = domain_ops();
  mr = mr_ops();
}

FakeMr::FakeMr(FakeDomain& domain, const fi_mr_attr& attributes, std::uint64_t flags, std::uint64_t number)
    : fid_mr{},
      Object(domain.network, "memory region", &domain),
      access(attributes.access),
      iface(attributes.iface),
      device(attributes.device.cuda) {
  fid.fclass = FI_CLASS_MR;
  fid.ops = plain_ops<FakeMr, fid_mr>();
  mem_desc = this;
  key = number;
  if ((flags & kDmaBufFlag) != 0) {
    const DmaBuf& dmabuf = *reinterpret_cast<const DmaBuf*>(attributes.mr_iov);
    data = static_cast<std::byte*>(dmabuf.base) + dmabuf.offset;
    size = dmabuf.size;
    dmabuf_fd = dmabuf.fd;
    dmabuf_offset = dmabuf.offset;
  } else {
    data = attributes.mr_iov->iov_base;
    size = attributes.mr_iov->iov_len;
  }
}

void FakeMr::on_close() {
  if (network.in_use(*this)) network.complain("a memory region was closed while an operation used it");
}

bool FakeMr::covers(const void* pointer, std::size_t bytes) const noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  const auto from = reinterpret_cast<std::uintptr_t>(pointer);
  return from >= begin && from - begin <= size && bytes <= size - (from - begin);
}

}  // namespace weft::test
