#include "transports/fabric/completion_queue.h"

#include <cstring>

namespace weft::fabric {

Result<CompletionQueue> CompletionQueue::open(const Domain& domain, std::size_t entries) {
  fi_cq_attr attributes{};
  attributes.size = entries;
  attributes.format = FI_CQ_FORMAT_TAGGED;
  attributes.wait_obj = FI_WAIT_NONE;
  fid_cq* raw = nullptr;
  if (const int rc = fi_cq_open(domain.get(), &attributes, &raw, nullptr); rc != 0) {
    return std::unexpected(domain.error("fi_cq_open", rc));
  }
  return CompletionQueue(Fid<fid_cq>(raw));
}

bool CompletionQueue::read_error(CompletionError& out) noexcept {
  // Newer libraries append fields to the entry; the room behind it is theirs.
  union {
    fi_cq_err_entry entry;
    char room[256];
  } storage;
  std::memset(&storage, 0, sizeof storage);
  fi_cq_err_entry& entry = storage.entry;
  if (fi_cq_readerr(cq_.get(), &entry, 0) != 1) return false;
  out.operation = static_cast<Operation*>(entry.op_context);
  out.error = entry.err < 0 ? -entry.err : entry.err;
  out.provider_error = entry.prov_errno;
  out.length = entry.len;
  out.overflow = entry.olen;
  out.text[0] = '\0';
  // The returned string may be the buffer, a static text, or nothing.
  const char* text = fi_cq_strerror(cq_.get(), entry.prov_errno, entry.err_data, out.text, sizeof out.text);
  if (text != nullptr && text != out.text) {
    std::strncpy(out.text, text, sizeof out.text - 1);
    out.text[sizeof out.text - 1] = '\0';
  }
  return true;
}

}  // namespace weft::fabric
