// One start of Weft in this process: the parameters, the library, the devices. Shared by all NCCL communicators.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "plugin/device_plan.h"
#include "transports/connection/device.h"
#include "transports/fabric/cuda_driver.h"
#include "transports/fabric/library.h"
#include "weft/params.h"
#include "weft/result.h"

namespace weft::plugin {

/// Immutable once open, so any thread may read it. Destroying it closes the devices; what was made from them must be
/// gone by then.
class Instance {
 public:
  /// Reads the parameters, opens libfabric, chooses the NICs and opens them, and logs the banner. A NIC that cannot be
  /// opened is named in a warning and left out; an error if none is left. The error says what to do.
  static Result<std::shared_ptr<Instance>> open(const Environment& environment);

  int device_count() const noexcept { return static_cast<int>(devices_.size()); }
  /// kArgument for an index that is not a device's.
  Result<Device*> device(int index) const;

 private:
  explicit Instance(Params params) : params_(std::move(params)) {}

  Result<bool> wants_rdma() const;
  Status open_devices();
  /// With providers that can do `caps`, up to `most_rails` NICs to a device.
  Status open_devices(std::uint64_t caps, int most_rails);
  DeviceOptions device_options(const PlannedDevice& planned) const;
  void log_banner(const fabric::Info& nic, const char* protocol) const;

  // In this order: devices use the library and the driver to their end.
  Params params_;
  std::optional<fabric::Library> library_;
  std::optional<fabric::CudaDriver> cuda_;
  std::vector<std::unique_ptr<Device>> devices_;
};

}  // namespace weft::plugin
