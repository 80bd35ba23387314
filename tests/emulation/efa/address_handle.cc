#include "tests/emulation/efa/address_handle.h"

#include <cerrno>
#include <cstring>
#include <mutex>

#include "tests/emulation/efa/context.h"
#include "tests/emulation/efa/reply.h"

using namespace weft::emulation::efa;

WEFT_VERBS ibv_ah* ibv_create_ah(ibv_pd* domain, ibv_ah_attr* attributes) {
  SharedDevice& shared = Context::of(domain->context)->shared();
  Gid gid;
  memcpy(gid.data(), attributes->grh.dgid.raw, gid.size());
  const std::lock_guard guard(shared.lock);
  // All processes of the host share a peer's handle, as on the device.
  uint32_t number = shared.find_address_handle(gid);
  if (number == kNoAddressHandle) {
    for (number = 0; number < kMaxAddressHandles && shared.address_handles[number].users != 0;) ++number;
    if (number == kMaxAddressHandles) {
      errno = ENOMEM;
      return nullptr;
    }
    shared.address_handles[number].gid = gid;
    if (number >= shared.address_handles_used) shared.address_handles_used.store(number + 1, std::memory_order_release);
  }
  shared.address_handles[number].users.fetch_add(1, std::memory_order_release);
  auto* handle = new AddressHandle{};
  handle->verbs.context = domain->context;
  handle->verbs.pd = domain;
  handle->number = static_cast<uint16_t>(number);
  handle->gid = gid;
  return &handle->verbs;
}

WEFT_VERBS int ibv_destroy_ah(ibv_ah* verbs) {
  auto* handle = reinterpret_cast<AddressHandle*>(verbs);
  SharedDevice& shared = Context::of(verbs->context)->shared();
  {
    const std::lock_guard guard(shared.lock);
    shared.address_handles[handle->number].users.fetch_sub(1);
  }
  delete handle;
  return 0;
}

WEFT_VERBS int efadv_query_ah(ibv_ah* verbs, efadv_ah_attr* attributes, uint32_t size) {
  efadv_ah_attr answer{};
  answer.ahn = reinterpret_cast<AddressHandle*>(verbs)->number;
  return reply(attributes, answer, size);
}
