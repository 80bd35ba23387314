// The pointers NCCL holds for Weft's objects: the object's address, and in its low three bits what it is. So a call
// is dispatched by a comparison, not through a table, and a pointer of the wrong kind is refused instead of followed.
#pragma once

#include <cstdint>

#include "transports/rdma/transport.h"
#include "transports/sendrecv/transport.h"

namespace weft::plugin {

/// One number per type, below 8. 0 is nothing, so that a null pointer is no object.
template <class T>
inline constexpr std::uintptr_t kTag = 0;
template <>
inline constexpr std::uintptr_t kTag<sendrecv::SendComm> = 1;
template <>
inline constexpr std::uintptr_t kTag<sendrecv::RecvComm> = 2;
template <>
inline constexpr std::uintptr_t kTag<Listener> = 3;
template <>
inline constexpr std::uintptr_t kTag<sendrecv::Request> = 4;

template <>
inline constexpr std::uintptr_t kTag<rdma::SendComm> = 5;
template <>
inline constexpr std::uintptr_t kTag<rdma::RecvComm> = 6;
template <>
inline constexpr std::uintptr_t kTag<rdma::Request> = 7;

inline constexpr std::uintptr_t kTagMask = 7;

/// What NCCL gets to hold for `object`.
template <class T>
void* to_handle(T* object) noexcept {
  static_assert(kTag<T> != 0 && kTag<T> <= kTagMask && alignof(T) > kTagMask);
  return reinterpret_cast<char*>(object) + kTag<T>;
}

/// Whether `handle` stands for a T; not if it is null.
template <class T>
bool is_handle_of(const void* handle) noexcept {
  return ((reinterpret_cast<std::uintptr_t>(handle) - kTag<T>)&kTagMask) == 0;
}

/// The object behind a handle of a T.
template <class T>
T& behind_handle(void* handle) noexcept {
  return *reinterpret_cast<T*>(static_cast<char*>(handle) - kTag<T>);
}

/// The object behind `handle`; nullptr if it is null or stands for another kind of object.
template <class T>
T* from_handle(void* handle) noexcept {
  return is_handle_of<T>(handle) ? &behind_handle<T>(handle) : nullptr;
}

}  // namespace weft::plugin
