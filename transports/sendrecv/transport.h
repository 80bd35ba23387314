// The two-sided transport as the plugin sees it: how its devices are opened and its communicators are made.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "transports/connection/device.h"
#include "transports/connection/listener.h"
#include "transports/sendrecv/recv_comm.h"
#include "transports/sendrecv/send_comm.h"
#include "weft/result.h"
#include "weft/wire.h"

namespace weft::sendrecv {

/// What a provider must be able to do.
fabric::Hints hints(const std::string& provider);

/// Opens one NIC (any FI_EP_RDM provider with tagged messages). May block for as long as the provider needs.
Result<std::unique_ptr<Device>> open_device(const fabric::Library& library, const fabric::Info& info,
                                            DeviceOptions options);

/// Starts listening and writes what the peer needs into `handle`. Never blocks.
Result<std::unique_ptr<Listener>> listen(Device& device, std::span<std::byte, kHandleBytes> handle);

/// One step towards the listener that wrote `handle`; nullptr: call again. The state of the attempt is kept by the
/// device and named in the handle, so the caller passes the same bytes each time. Never blocks; fails at the time
/// limit with the peer's name.
Result<std::unique_ptr<SendComm>> connect(Device& device, std::span<std::byte, kHandleBytes> handle);

/// One step towards the peer that connects to `listener`; nullptr: call again. Never blocks.
Result<std::unique_ptr<RecvComm>> accept(Listener& listener);

/// Gives a communicator back. Never waits for the peer: operations still in flight are cancelled, and what cannot be
/// cancelled at once is kept alive by the device until it ends.
void close(std::unique_ptr<SendComm> comm) noexcept;
void close(std::unique_ptr<RecvComm> comm) noexcept;

/// To be called before `memory` is deregistered (a handle, which is not looked into): a provider that moves data by
/// itself, as all do in part, must not touch it afterwards, as a NIC would not. Receives into it are cancelled, which
/// is the end of their communicators; what has begun gets a moment to end. Fails where a receive has not ended: the
/// memory must then stay.
Status withdraw(Device& device, const MemoryHandle* memory) noexcept;

/// Makes progress on the request's device and says whether the request is done. `sizes` (may be null) receives the
/// bytes of each sub-request. A request that is done is given back and must not be asked about again.
TestStatus test(Request& request, int* sizes) noexcept;

/// The sticky error of the communicator a request belongs to; read it after kFailed.
const Error& error_of(const Request& request) noexcept;

}  // namespace weft::sendrecv
