// Where Weft's errors become NCCL's results. No exception and no Error passes this line.
#pragma once

#include <exception>
#include <new>
#include <utility>

#include "weft/nccl/net_common.h"
#include "weft/result.h"

namespace weft::plugin {

constexpr nccl::ncclResult_t to_nccl(Code code) noexcept {
  switch (code) {
    case Code::kSystem: return nccl::ncclSystemError;
    case Code::kInternal: return nccl::ncclInternalError;
    case Code::kArgument: return nccl::ncclInvalidArgument;
    case Code::kUsage: return nccl::ncclInvalidUsage;
    case Code::kRemote: return nccl::ncclRemoteError;
    // NCCL's own socket network says the same when a message is longer than its receive.
    case Code::kTruncated: return nccl::ncclInvalidUsage;
    // ncclTimeout is younger than most of the ABIs served here; older NCCLs would print it as an unknown error.
    case Code::kTimeout: return nccl::ncclRemoteError;
    case Code::kMissing: return nccl::ncclSystemError;
  }
  return nccl::ncclInternalError;
}

/// Logs the error of the entry function `call` in one warning, unless that has been done, and returns NCCL's word for
/// it.
[[gnu::cold]] nccl::ncclResult_t refuse(const char* call, const Error& error) noexcept;

/// The same for a failure that has no Error: `format` as for printf.
[[gnu::cold, gnu::format(printf, 3, 4)]] nccl::ncclResult_t refuse(const char* call, Code code, const char* format,
                                                                   ...) noexcept;

/// Runs a set-up function and translates what comes of it. `function` returns a Status.
template <class F>
nccl::ncclResult_t guard(const char* call, F&& function) noexcept {
  try {
    const Status status = std::forward<F>(function)();
    return status ? nccl::ncclSuccess : refuse(call, status.error());
  } catch (const std::bad_alloc&) {
    return refuse(call, Code::kSystem, "out of memory");
  } catch (const std::exception& exception) {
    return refuse(call, Code::kInternal, "unexpected exception: %s", exception.what());
  } catch (...) {
    return refuse(call, Code::kInternal, "unexpected exception");
  }
}

}  // namespace weft::plugin
