#pragma once

#include "tests/emulation/efa/shared_device.h"
#include "tests/emulation/efa/shared_queues.h"

namespace weft::emulation::efa {

// The other ends of the wire: mappings of NICs and of the queues of queue pairs, kept for the life of the process.

// nullptr: nobody has opened that NIC.
SharedDevice* peer_device(const Gid& gid);
// A NIC of this host: made when it is not there, with its initial knobs; what killed processes left is freed.
SharedDevice* open_own_device(const Gid& gid);

// nullptr: gone.
ReceiveQueue* peer_receives(uint64_t id);
CompletionRing* peer_completions(uint64_t id);

}  // namespace weft::emulation::efa
