#pragma once

#include <cstdint>

namespace weft::emulation::efa {

// How the device ended a work request: the number that libfabric reports as prov_errno.
enum class CompletionStatus : uint8_t {
  kOk = 0,
  kFlushed = 1,
  kQpInternalError = 2,
  kUnsupportedOperation = 3,
  kInvalidAddressHandle = 4,
  kInvalidLocalKey = 5,
  kBadLength = 6,
  kRemoteBadAddress = 7,
  kRemoteAbort = 8,
  kRemoteBadQp = 9,
  kRemoteNotReady = 10,
  kRemoteBadLength = 11,
  kRemoteBadStatus = 12,
  kUnresponsiveRemote = 13,
  kRemoteUnknownPeer = 14,
  kUnreachableRemote = 15,
};

}  // namespace weft::emulation::efa
