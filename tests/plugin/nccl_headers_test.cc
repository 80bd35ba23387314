// Our declarations of the net plugin's ABI against NCCL's own. Built only where NCCL's sources are at hand.
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "nccl_net.h"

#include "weft/nccl/net_v10.h"
#include "weft/nccl/net_v11.h"
#include "weft/nccl/net_v12.h"
#include "weft/nccl/net_v6.h"
#include "weft/nccl/net_v7.h"
#include "weft/nccl/net_v8.h"
#include "weft/nccl/net_v9.h"

namespace {

namespace ours = weft::nccl;

#define WEFT_SAME_SIZE(type) static_assert(sizeof(ours::type) == sizeof(::type), #type)
#define WEFT_SAME_FIELD(type, field)                                                       \
  static_assert(offsetof(ours::type, field) == offsetof(::type, field), #type "." #field); \
  static_assert(sizeof(ours::type::field) == sizeof(::type::field), #type "." #field)

#define WEFT_SAME_PROPERTIES_V6(type) \
  WEFT_SAME_SIZE(type);               \
  WEFT_SAME_FIELD(type, name);        \
  WEFT_SAME_FIELD(type, pciPath);     \
  WEFT_SAME_FIELD(type, guid);        \
  WEFT_SAME_FIELD(type, ptrSupport);  \
  WEFT_SAME_FIELD(type, speed);       \
  WEFT_SAME_FIELD(type, port);        \
  WEFT_SAME_FIELD(type, latency);     \
  WEFT_SAME_FIELD(type, maxComms);    \
  WEFT_SAME_FIELD(type, maxRecvs)
#define WEFT_SAME_PROPERTIES_V7(type)   \
  WEFT_SAME_PROPERTIES_V6(type);        \
  WEFT_SAME_FIELD(type, netDeviceType); \
  WEFT_SAME_FIELD(type, netDeviceVersion)
#define WEFT_SAME_PROPERTIES_V8(type) \
  WEFT_SAME_PROPERTIES_V7(type);      \
  WEFT_SAME_FIELD(type, regIsGlobal)
#define WEFT_SAME_PROPERTIES_V9(type) \
  WEFT_SAME_PROPERTIES_V8(type);      \
  WEFT_SAME_FIELD(type, forceFlush);  \
  WEFT_SAME_FIELD(type, vProps);      \
  WEFT_SAME_FIELD(type, maxP2pBytes); \
  WEFT_SAME_FIELD(type, maxCollBytes)
#define WEFT_SAME_PROPERTIES_V11(type) \
  WEFT_SAME_PROPERTIES_V9(type);       \
  WEFT_SAME_FIELD(type, maxMultiRequestSize)

WEFT_SAME_PROPERTIES_V6(ncclNetProperties_v6_t);
WEFT_SAME_PROPERTIES_V7(ncclNetProperties_v7_t);
WEFT_SAME_PROPERTIES_V8(ncclNetProperties_v8_t);
WEFT_SAME_PROPERTIES_V9(ncclNetProperties_v9_t);
WEFT_SAME_PROPERTIES_V9(ncclNetProperties_v10_t);
WEFT_SAME_PROPERTIES_V11(ncclNetProperties_v11_t);
WEFT_SAME_PROPERTIES_V11(ncclNetProperties_v12_t);
WEFT_SAME_FIELD(ncclNetProperties_v12_t, railId);
WEFT_SAME_FIELD(ncclNetProperties_v12_t, planeId);

WEFT_SAME_SIZE(ncclNetDeviceHandle_v12_t);
WEFT_SAME_FIELD(ncclNetDeviceHandle_v12_t, handle);
WEFT_SAME_FIELD(ncclNetDeviceHandle_v12_t, needsProxyProgress);
WEFT_SAME_SIZE(ncclNetCommConfig_v10_t);
WEFT_SAME_SIZE(ncclNetCommConfig_v12_t);
WEFT_SAME_SIZE(ncclNetAttr_v11_t);
WEFT_SAME_SIZE(ncclNetAttr_v12_t);
WEFT_SAME_FIELD(ncclNetAttr_v12_t, recvCommAttr);
WEFT_SAME_FIELD(ncclNetAttr_v12_t, proto);

/// The functions of a table, one by one: same place, and the same form once our types are taken for NCCL's.
#define WEFT_SAME_FUNCTION(table, function)                                                                   \
  static_assert(offsetof(ours::table, function) == offsetof(::table, function), #table "." #function);        \
  static_assert(Arity<decltype(ours::table::function)>::kSizes == Arity<decltype(::table::function)>::kSizes, \
                #table "." #function)

/// The sizes of a function's arguments, as digits of one number: pointers 8, int 4, 64-bit numbers 8.
template <class F>
struct Arity;
template <class R, class... Arguments>
struct Arity<R (*)(Arguments...)> {
  static constexpr unsigned long long sizes() {
    unsigned long long digits = 1;
    for (const auto size : {sizeof(Arguments)...}) digits = digits * 10 + size;
    return digits;
  }
  static constexpr unsigned long long kSizes = sizes();
};

#define WEFT_SAME_TABLE_V6(table)                                        \
  WEFT_SAME_SIZE(table);                                                 \
  static_assert(offsetof(ours::table, name) == offsetof(::table, name)); \
  WEFT_SAME_FUNCTION(table, init);                                       \
  WEFT_SAME_FUNCTION(table, devices);                                    \
  WEFT_SAME_FUNCTION(table, getProperties);                              \
  WEFT_SAME_FUNCTION(table, listen);                                     \
  WEFT_SAME_FUNCTION(table, connect);                                    \
  WEFT_SAME_FUNCTION(table, accept);                                     \
  WEFT_SAME_FUNCTION(table, regMr);                                      \
  WEFT_SAME_FUNCTION(table, regMrDmaBuf);                                \
  WEFT_SAME_FUNCTION(table, deregMr);                                    \
  WEFT_SAME_FUNCTION(table, isend);                                      \
  WEFT_SAME_FUNCTION(table, irecv);                                      \
  WEFT_SAME_FUNCTION(table, iflush);                                     \
  WEFT_SAME_FUNCTION(table, test);                                       \
  WEFT_SAME_FUNCTION(table, closeSend);                                  \
  WEFT_SAME_FUNCTION(table, closeRecv);                                  \
  WEFT_SAME_FUNCTION(table, closeListen)
#define WEFT_SAME_TABLE_V7(table)         \
  WEFT_SAME_TABLE_V6(table);              \
  WEFT_SAME_FUNCTION(table, getDeviceMr); \
  WEFT_SAME_FUNCTION(table, irecvConsumed)
#define WEFT_SAME_TABLE_V9(table) \
  WEFT_SAME_TABLE_V7(table);      \
  WEFT_SAME_FUNCTION(table, makeVDevice)
#define WEFT_SAME_TABLE_V11(table)     \
  WEFT_SAME_TABLE_V9(table);           \
  WEFT_SAME_FUNCTION(table, finalize); \
  WEFT_SAME_FUNCTION(table, setNetAttr)

WEFT_SAME_TABLE_V6(ncclNet_v6_t);
WEFT_SAME_TABLE_V7(ncclNet_v7_t);
WEFT_SAME_TABLE_V7(ncclNet_v8_t);
WEFT_SAME_TABLE_V9(ncclNet_v9_t);
WEFT_SAME_TABLE_V9(ncclNet_v10_t);
WEFT_SAME_TABLE_V11(ncclNet_v11_t);
WEFT_SAME_TABLE_V11(ncclNet_v12_t);

#define WEFT_SAME_NUMBER(ours_value, ncclValue) \
  static_assert(static_cast<long long>(ours_value) == static_cast<long long>(ncclValue), #ncclValue)
WEFT_SAME_NUMBER(ours::kNetHandleBytes, NCCL_NET_HANDLE_MAXSIZE);
WEFT_SAME_NUMBER(ours::kNetMaxRequests, NCCL_NET_MAX_REQUESTS);
WEFT_SAME_NUMBER(ours::kNetMaxSizeBytes, NCCL_MAX_NET_SIZE_BYTES);
WEFT_SAME_NUMBER(ours::kNetOptionalRecvCompletion, NCCL_NET_OPTIONAL_RECV_COMPLETION);
WEFT_SAME_NUMBER(ours::kNetTrafficClassUndefined, NCCL_NET_TRAFFIC_CLASS_UNDEF);
WEFT_SAME_NUMBER(ours::kNetAttributeUndefined, NCCL_NET_ATTR_UNDEF);
WEFT_SAME_NUMBER(ours::kNetIdUndefined, NCCL_NET_ID_UNDEF);
WEFT_SAME_NUMBER(ours::kNetMaxDevsPerNicV11, NCCL_NET_MAX_DEVS_PER_NIC_V11);
WEFT_SAME_NUMBER(ours::kNetMaxDevsPerNicV12, NCCL_NET_MAX_DEVS_PER_NIC_V12);
WEFT_SAME_NUMBER(ours::kPtrHost, NCCL_PTR_HOST);
WEFT_SAME_NUMBER(ours::kPtrCuda, NCCL_PTR_CUDA);
WEFT_SAME_NUMBER(ours::kPtrDmaBuf, NCCL_PTR_DMABUF);
WEFT_SAME_NUMBER(ours::NCCL_LOG_WARN, ::NCCL_LOG_WARN);
WEFT_SAME_NUMBER(ours::NCCL_LOG_INFO, ::NCCL_LOG_INFO);
WEFT_SAME_NUMBER(ours::NCCL_LOG_TRACE, ::NCCL_LOG_TRACE);
WEFT_SAME_NUMBER(ours::NCCL_INIT, ::NCCL_INIT);
WEFT_SAME_NUMBER(ours::NCCL_NET, ::NCCL_NET);
WEFT_SAME_NUMBER(ours::NCCL_NET_DEVICE_HOST, ::NCCL_NET_DEVICE_HOST);
WEFT_SAME_NUMBER(ours::NCCL_NET_DEVICE_UNPACK, ::NCCL_NET_DEVICE_UNPACK);
WEFT_SAME_NUMBER(ours::NCCL_NET_DEVICE_GIN_GPI, ::NCCL_NET_DEVICE_GIN_GPI);
WEFT_SAME_NUMBER(ours::kNetDeviceInvalidVersion, NCCL_NET_DEVICE_INVALID_VERSION);

}  // namespace

int main() { return 0; }  // all of it happened at compile time
