// The one-sided transport as the plugin sees it: how its devices are opened and its communicators are made. The
// protocol is described in PROTOCOL.md.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "transports/connection/device.h"
#include "transports/connection/listener.h"
#include "transports/rdma/recv_comm.h"
#include "transports/rdma/send_comm.h"
#include "weft/result.h"
#include "weft/wire.h"

namespace weft::rdma {

/// What a provider must be able to do.
fabric::Hints hints(const std::string& provider);

/// Opens up to kMaxRails NICs as one device. May block for as long as the provider needs.
Result<std::unique_ptr<Device>> open_device(const fabric::Library& library, std::span<const fabric::Info* const> infos,
                                            DeviceOptions options);

/// Starts listening and writes what the peer needs into `handle`. Never blocks.
Result<std::unique_ptr<Listener>> listen(Device& device, std::span<std::byte, kHandleBytes> handle);

/// One step towards the listener that wrote `handle`; nullptr: call again with the same bytes. Never blocks; fails at
/// the time limit, or as soon as the peer refuses or is found to be gone.
Result<std::unique_ptr<SendComm>> connect(Device& device, std::span<std::byte, kHandleBytes> handle);

/// One step towards accepting the listener's connection; nullptr: call again. Never blocks.
Result<std::unique_ptr<RecvComm>> accept(Listener& listener);

/// Never waits for the peer; what is still in flight is kept until it has ended.
void close(std::unique_ptr<SendComm> comm) noexcept;
void close(std::unique_ptr<RecvComm> comm) noexcept;

/// Whether the request is done; if so it is free, and `sizes` (may be null) holds the bytes of each buffer. The hot
/// path's second half.
TestStatus test(Request& request, int* sizes) noexcept;

/// Why a request of this communicator failed.
const Error& error_of(const Request& request) noexcept;

}  // namespace weft::rdma
