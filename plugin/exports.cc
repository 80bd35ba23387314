// The tables that NCCL looks up by name, newest first. Nothing else leaves this library (exports.map).
//
// Functions that stay null, all of which NCCL checks before it calls them:
//   getDeviceMr, irecvConsumed   for networks that run on the GPU (transport/net.cc; NCCL's own net_socket.cc has null)
//   setNetAttr                   a hint (transport/net.cc, setNetAttrs)
#include "plugin/env_plugin.h"
#include "plugin/net_compat.h"
#include "plugin/net_properties.h"
#include "plugin/net_v12.h"
#include "weft/nccl/env_v1.h"
#include "weft/nccl/env_v2.h"
#include "weft/nccl/net_v10.h"
#include "weft/nccl/net_v11.h"
#include "weft/nccl/net_v12.h"
#include "weft/nccl/net_v6.h"
#include "weft/nccl/net_v7.h"
#include "weft/nccl/net_v8.h"
#include "weft/nccl/net_v9.h"

#define WEFT_EXPORT __attribute__((visibility("default")))

namespace weft::plugin {

extern "C" {

extern const nccl::ncclNet_v12_t ncclNetPlugin_v12 WEFT_EXPORT = {
    .name = kNetName,
    .init = init,
    .devices = devices,
    .getProperties = get_properties,
    .listen = listen,
    .connect = connect,
    .accept = accept,
    .regMr = reg_mr,
    .regMrDmaBuf = reg_mr_dmabuf,
    .deregMr = dereg_mr,
    .isend = isend,
    .irecv = irecv,
    .iflush = iflush,
    .test = test,
    .closeSend = close_send,
    .closeRecv = close_recv,
    .closeListen = close_listen,
    .getDeviceMr = nullptr,
    .irecvConsumed = nullptr,
    .makeVDevice = make_vdevice,
    .finalize = finalize,
    .setNetAttr = nullptr,
};

extern const nccl::ncclNet_v11_t ncclNetPlugin_v11 WEFT_EXPORT = {
    .name = kNetName,
    .init = init,
    .devices = devices,
    .getProperties = get_properties,
    .listen = listen,
    .connect = connect,
    .accept = accept,
    .regMr = reg_mr,
    .regMrDmaBuf = reg_mr_dmabuf,
    .deregMr = dereg_mr,
    .isend = isend,
    .irecv = irecv,
    .iflush = iflush,
    .test = test,
    .closeSend = close_send,
    .closeRecv = close_recv,
    .closeListen = close_listen,
    .getDeviceMr = nullptr,
    .irecvConsumed = nullptr,
    .makeVDevice = make_vdevice,
    .finalize = finalize,
    .setNetAttr = nullptr,
};

extern const nccl::ncclNet_v10_t ncclNetPlugin_v10 WEFT_EXPORT = {
    .name = kNetName,
    .init = compat::init_v10,
    .devices = devices,
    .getProperties = get_properties,
    .listen = compat::listen,
    .connect = compat::connect_v10,
    .accept = accept,
    .regMr = reg_mr,
    .regMrDmaBuf = reg_mr_dmabuf,
    .deregMr = dereg_mr,
    .isend = isend,
    .irecv = irecv,
    .iflush = iflush,
    .test = test,
    .closeSend = close_send,
    .closeRecv = close_recv,
    .closeListen = close_listen,
    .getDeviceMr = nullptr,
    .irecvConsumed = nullptr,
    .makeVDevice = make_vdevice,
};

extern const nccl::ncclNet_v9_t ncclNetPlugin_v9 WEFT_EXPORT = {
    .name = kNetName,
    .init = compat::init,
    .devices = devices,
    .getProperties = get_properties,
    .listen = compat::listen,
    .connect = compat::connect,
    .accept = accept,
    .regMr = reg_mr,
    .regMrDmaBuf = reg_mr_dmabuf,
    .deregMr = dereg_mr,
    .isend = compat::isend_v9,
    .irecv = compat::irecv_v9,
    .iflush = iflush,
    .test = test,
    .closeSend = close_send,
    .closeRecv = close_recv,
    .closeListen = close_listen,
    .getDeviceMr = nullptr,
    .irecvConsumed = nullptr,
    .makeVDevice = make_vdevice,
};

extern const nccl::ncclNet_v8_t ncclNetPlugin_v8 WEFT_EXPORT = {
    .name = kNetName,
    .init = compat::init,
    .devices = devices,
    .getProperties = get_properties,
    .listen = compat::listen,
    .connect = compat::connect,
    .accept = accept,
    .regMr = reg_mr,
    .regMrDmaBuf = reg_mr_dmabuf,
    .deregMr = dereg_mr,
    .isend = compat::isend_v8,
    .irecv = compat::irecv_v8,
    .iflush = iflush,
    .test = test,
    .closeSend = close_send,
    .closeRecv = close_recv,
    .closeListen = close_listen,
    .getDeviceMr = nullptr,
    .irecvConsumed = nullptr,
};

extern const nccl::ncclNet_v7_t ncclNetPlugin_v7 WEFT_EXPORT = {
    .name = kNetName,
    .init = compat::init,
    .devices = devices,
    .getProperties = get_properties,
    .listen = compat::listen,
    .connect = compat::connect,
    .accept = accept,
    .regMr = compat::reg_mr_v7,
    .regMrDmaBuf = reg_mr_dmabuf,
    .deregMr = dereg_mr,
    .isend = compat::isend_v8,
    .irecv = compat::irecv_v8,
    .iflush = iflush,
    .test = test,
    .closeSend = close_send,
    .closeRecv = close_recv,
    .closeListen = close_listen,
    .getDeviceMr = nullptr,
    .irecvConsumed = nullptr,
};

extern const nccl::ncclNet_v6_t ncclNetPlugin_v6 WEFT_EXPORT = {
    .name = kNetName,
    .init = compat::init,
    .devices = devices,
    .getProperties = get_properties,
    .listen = compat::listen,
    .connect = compat::connect_v6,
    .accept = compat::accept_v6,
    .regMr = compat::reg_mr_v7,
    .regMrDmaBuf = reg_mr_dmabuf,
    .deregMr = dereg_mr,
    .isend = compat::isend_v8,
    .irecv = compat::irecv_v8,
    .iflush = iflush,
    .test = test,
    .closeSend = close_send,
    .closeRecv = close_recv,
    .closeListen = close_listen,
};

extern const nccl::ncclEnv_v2_t ncclEnvPlugin_v2 WEFT_EXPORT = {
    .name = kEnvName,
    .init = env_init_logged,
    .finalize = env_finalize,
    .getEnv = env_get,
};

extern const nccl::ncclEnv_v1_t ncclEnvPlugin_v1 WEFT_EXPORT = {
    .name = kEnvName,
    .init = env_init,
    .finalize = env_finalize,
    .getEnv = env_get,
};

}  // extern "C"

}  // namespace weft::plugin
