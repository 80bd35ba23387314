#include "tests/fabric_fake/fake_info.h"

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <cstdlib>
#include <cstring>

namespace weft::test {
namespace {

// Weft frees and replaces strings inside an fi_info with free() and strdup(), as libfabric's users do: hence malloc.
void* copied(const void* bytes, std::size_t size) {
  if (bytes == nullptr || size == 0) return nullptr;
  void* const copy = std::malloc(size);
  if (copy != nullptr) std::memcpy(copy, bytes, size);
  return copy;
}

char* copied(const char* text) { return text != nullptr ? strdup(text) : nullptr; }

template <class T>
T* zeroed() {
  return static_cast<T*>(std::calloc(1, sizeof(T)));
}

/// Gives `to` its own copy of what `from` points to, or zeroes.
template <class T>
void own(T*& to, const T* from) {
  to = from != nullptr ? static_cast<T*>(copied(from, sizeof(T))) : zeroed<T>();
}

fid_nic* dup_nic(const fid_nic* nic) {
  if (nic == nullptr) return nullptr;
  // Only ours come here, and they hold no strings.
  auto* const copy = static_cast<fid_nic*>(copied(nic, sizeof *nic));
  own(copy->device_attr, nic->device_attr);
  own(copy->bus_attr, nic->bus_attr);
  own(copy->link_attr, nic->link_attr);
  return copy;
}

void free_nic(fid_nic* nic) {
  if (nic == nullptr) return;
  std::free(nic->device_attr);
  std::free(nic->bus_attr);
  std::free(nic->link_attr);
  std::free(nic);
}

void free_one(fi_info* info) {
  std::free(info->src_addr);
  std::free(info->dest_addr);
  std::free(info->tx_attr);
  std::free(info->rx_attr);
  std::free(info->ep_attr->auth_key);
  std::free(info->ep_attr);
  std::free(info->domain_attr->name);
  std::free(info->domain_attr->auth_key);
  std::free(info->domain_attr);
  std::free(info->fabric_attr->name);
  std::free(info->fabric_attr->prov_name);
  std::free(info->fabric_attr);
  free_nic(info->nic);
  std::free(info);
}

template <class T>
bool within(T needed, T offered) {
  return (needed & ~offered) == 0;
}

/// True if an application that gives these hints can use the NIC.
bool serves(const FakeNic& nic, const fi_info& hints) {
  if (!within(hints.caps, nic.caps) || !within(nic.mode, hints.mode)) return false;
  if (hints.ep_attr != nullptr && hints.ep_attr->type != FI_EP_UNSPEC && hints.ep_attr->type != FI_EP_RDM) return false;
  if (hints.domain_attr != nullptr) {
    if (!within(nic.mr_mode, hints.domain_attr->mr_mode)) return false;
    if (hints.domain_attr->name != nullptr && hints.domain_attr->name != nic.name) return false;
  }
  return hints.fabric_attr == nullptr || hints.fabric_attr->prov_name == nullptr ||
         hints.fabric_attr->prov_name == nic.provider;
}

}  // namespace

fi_info* dup_info(const fi_info* info) {
  static const fi_info empty{};
  if (info == nullptr) info = &empty;
  auto* const copy = static_cast<fi_info*>(copied(info, sizeof *info));
  copy->next = nullptr;
  copy->src_addr = copied(info->src_addr, info->src_addrlen);
  copy->dest_addr = copied(info->dest_addr, info->dest_addrlen);
  own(copy->tx_attr, info->tx_attr);
  own(copy->rx_attr, info->rx_attr);
  own(copy->ep_attr, info->ep_attr);
  own(copy->domain_attr, info->domain_attr);
  own(copy->fabric_attr, info->fabric_attr);
  copy->ep_attr->auth_key = static_cast<std::uint8_t*>(copied(copy->ep_attr->auth_key, copy->ep_attr->auth_key_size));
  copy->domain_attr->auth_key =
      static_cast<std::uint8_t*>(copied(copy->domain_attr->auth_key, copy->domain_attr->auth_key_size));
  copy->domain_attr->name = copied(copy->domain_attr->name);
  copy->fabric_attr->name = copied(copy->fabric_attr->name);
  copy->fabric_attr->prov_name = copied(copy->fabric_attr->prov_name);
  copy->nic = dup_nic(info->nic);
  return copy;
}

void free_info(fi_info* info) {
  while (info != nullptr) {
    fi_info* const next = info->next;
    free_one(info);
    info = next;
  }
}

fi_info* offer(const FakeNic& nic, const fi_info* hints) {
  if (hints != nullptr && !serves(nic, *hints)) return nullptr;
  fi_info* const info = dup_info(nullptr);
  info->caps = hints != nullptr && hints->caps != 0 ? hints->caps : nic.caps;
  info->mode = nic.mode;
  info->addr_format = FI_FORMAT_UNSPEC;
  info->ep_attr->type = FI_EP_RDM;
  info->ep_attr->max_msg_size = nic.max_message;
  info->ep_attr->mem_tag_format = ~std::uint64_t{0};
  info->ep_attr->tx_ctx_cnt = 1;
  info->ep_attr->rx_ctx_cnt = 1;
  info->tx_attr->caps = info->caps;
  info->tx_attr->size = nic.tx_size;
  info->tx_attr->iov_limit = 1;
  info->rx_attr->caps = info->caps;
  info->rx_attr->size = nic.rx_size;
  info->rx_attr->iov_limit = 1;
  info->domain_attr->name = copied(nic.name.c_str());
  info->domain_attr->mr_mode = nic.mr_mode;
  info->domain_attr->threading = FI_THREAD_COMPLETION;
  info->domain_attr->control_progress = FI_PROGRESS_MANUAL;
  info->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  info->domain_attr->av_type = FI_AV_TABLE;
  info->domain_attr->cq_cnt = 1024;
  info->domain_attr->ep_cnt = 1024;
  info->domain_attr->mr_key_size = sizeof(std::uint64_t);
  info->domain_attr->mr_cnt = 65536;
  info->fabric_attr->name = copied(nic.fabric.c_str());
  info->fabric_attr->prov_name = copied(nic.provider.c_str());
  if (nic.speed_mbps != 0) {
    info->nic = zeroed<fid_nic>();
    info->nic->device_attr = zeroed<fi_device_attr>();
    info->nic->bus_attr = zeroed<fi_bus_attr>();
    info->nic->link_attr = zeroed<fi_link_attr>();
    info->nic->link_attr->speed = nic.speed_mbps * 1'000'000;
    info->nic->link_attr->state = FI_LINK_UP;
  }
  return info;
}

}  // namespace weft::test
