// The fake's completion queue.
#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "tests/fabric_fake/network.h"

namespace weft::test {
namespace {

int close_cq(fid* raw) {
  auto& cq = object_of<FakeCq, fid_cq>(raw);
  const std::lock_guard guard(cq.network.lock);
  return cq.network.close(cq);
}

/// Each format is a prefix of the next, and all of the error entry (rdma/fi_eq.h).
std::size_t bytes_of(fi_cq_format format) noexcept {
  switch (format) {
    case FI_CQ_FORMAT_CONTEXT: return sizeof(fi_cq_entry);
    case FI_CQ_FORMAT_MSG: return sizeof(fi_cq_msg_entry);
    case FI_CQ_FORMAT_DATA: return sizeof(fi_cq_data_entry);
    default: return sizeof(fi_cq_tagged_entry);
  }
}
static_assert(offsetof(fi_cq_err_entry, tag) == offsetof(fi_cq_tagged_entry, tag));

void pop(FakeCq& cq) noexcept {
  cq.head = (cq.head + 1) % cq.ring.size();
  --cq.count;
}

ssize_t read(fid_cq* raw, void* out, std::size_t count) {
  auto& cq = static_cast<FakeCq&>(*raw);
  const Entry entry(cq.network, &cq);
  cq.network.on_read();
  if (cq.count == 0) return -FI_EAGAIN;
  std::size_t taken = 0;
  auto* bytes = static_cast<std::byte*>(out);
  while (taken < count && cq.count != 0 && cq.ring[cq.head].err == 0) {
    std::memcpy(bytes, &cq.ring[cq.head], cq.entry_bytes);
    bytes += cq.entry_bytes;
    ++taken;
    pop(cq);
  }
  // Successes first: the error is announced once it is the next entry.
  if (taken == 0 && cq.ring[cq.head].err != 0) return -FI_EAVAIL;
  return static_cast<ssize_t>(taken);
}

ssize_t read_error(fid_cq* raw, fi_cq_err_entry* out, std::uint64_t) {
  auto& cq = static_cast<FakeCq&>(*raw);
  const Entry entry(cq.network, &cq);
  if (cq.count == 0 || cq.ring[cq.head].err == 0) return -FI_EAGAIN;
  *out = cq.ring[cq.head];
  pop(cq);
  return 1;
}

const char* error_text(fid_cq* raw, int provider_error, const void*, char* out, std::size_t room) {
  switch (static_cast<FakeCq&>(*raw).network.options.error_text) {
    case ErrorText::kNone: return nullptr;
    case ErrorText::kStatic: return "a fake error";
    case ErrorText::kInBuffer: break;
  }
  if (out == nullptr || room == 0) return "a fake error";
  std::snprintf(out, room, "fake error %d", provider_error);
  return out;
}

fi_ops* fid_ops() {
  static fi_ops ops = [] {
    fi_ops made{};
    made.size = sizeof made;
    made.close = close_cq;
    unsupported(made.bind);
    unsupported(made.control);
    unsupported(made.ops_open);
    return made;
  }();
  return &ops;
}

fi_ops_cq* cq_ops() {
  static fi_ops_cq ops = [] {
    fi_ops_cq made{};
    made.size = sizeof made;
    made.read = read;
    unsupported(made.readfrom);
    made.readerr = read_error;
    unsupported(made.sread);
    unsupported(made.sreadfrom);
    unsupported(made.signal);
    made.strerror = error_text;
    return made;
  }();
  return &ops;
}

}  // namespace

FakeCq::FakeCq(FakeDomain& domain, std::size_t entries, fi_cq_format format)
    : fid_cq{}, Object(domain.network, "completion queue", &domain), ring(entries), entry_bytes(bytes_of(format)) {
  fid.fclass = FI_CLASS_CQ;
  fid.ops = fid_ops();
  ops = cq_ops();
}

void FakeCq::on_close() { ring = {}; }

void FakeCq::push(const fi_cq_err_entry& entry) {
  if (count == ring.size()) {
    network.complain("a completion queue overran: more operations than its " + std::to_string(count) + " entries");
    return;
  }
  ring[(head + count) % ring.size()] = entry;
  ++count;
}

}  // namespace weft::test
