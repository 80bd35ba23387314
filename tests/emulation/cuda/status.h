#pragma once

namespace weft::emulation {

// The driver's results that the emulator gives, with CUDA's numbers (driver_status.cc compares them): the parts below
// the entry points include no CUDA header.
enum class Status : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidContext = 201,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kAlreadyRegistered = 712,
  kNotRegistered = 713,
  kLaunchFailed = 719,
  kNotSupported = 801,
};

}  // namespace weft::emulation
