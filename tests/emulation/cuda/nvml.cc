// The emulated libnvidia-ml.so.1: the GPUs of the host, without NVLink. Only what NCCL calls; it looks functions up by
// name, so no header is needed.
#include <cstdio>
#include <cstring>

#include "tests/emulation/cuda/entry.h"
#include "tests/emulation/cuda/settings.h"

using weft::emulation::PciAddress;
using weft::emulation::settings;

namespace {

constexpr int kSuccess = 0, kInvalidArgument = 2, kNotSupported = 3, kNotFound = 6;

// A handle points to the GPU's address in the list.
using Handle = const PciAddress*;

unsigned index_of(Handle handle) { return static_cast<unsigned>(handle - settings().gpus.data()); }

// The part of nvmlPciInfo_t that NCCL's own declaration has.
struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, device_id, subsystem_id;
};

}  // namespace

WEFT_EMULATED int nvmlInit_v2() { return kSuccess; }
WEFT_EMULATED int nvmlInit() { return kSuccess; }
WEFT_EMULATED int nvmlShutdown() { return kSuccess; }
WEFT_EMULATED const char* nvmlErrorString(int error) {
  return error == kSuccess ? "success" : "not there in the emulated NVML";
}
WEFT_EMULATED int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(settings().gpus.size());
  return kSuccess;
}
WEFT_EMULATED int nvmlDeviceGetCount(unsigned* count) { return nvmlDeviceGetCount_v2(count); }
WEFT_EMULATED int nvmlDeviceGetHandleByIndex_v2(unsigned index, Handle* handle) {
  if (index >= settings().gpus.size()) return kInvalidArgument;
  *handle = &settings().gpus[index];
  return kSuccess;
}
WEFT_EMULATED int nvmlDeviceGetHandleByIndex(unsigned index, Handle* handle) {
  return nvmlDeviceGetHandleByIndex_v2(index, handle);
}
WEFT_EMULATED int nvmlDeviceGetHandleByPciBusId_v2(const char* text, Handle* handle) {
  PciAddress wanted;
  if (!weft::emulation::parse_pci_address(text, &wanted)) return kInvalidArgument;
  for (const PciAddress& gpu : settings().gpus) {
    if (gpu == wanted) {
      *handle = &gpu;
      return kSuccess;
    }
  }
  return kNotFound;
}
WEFT_EMULATED int nvmlDeviceGetHandleByPciBusId(const char* text, Handle* handle) {
  return nvmlDeviceGetHandleByPciBusId_v2(text, handle);
}
WEFT_EMULATED int nvmlDeviceGetIndex(Handle handle, unsigned* index) {
  *index = index_of(handle);
  return kSuccess;
}
WEFT_EMULATED int nvmlDeviceGetCudaComputeCapability(Handle, int* major, int* minor) {
  *major = 8;
  *minor = 0;
  return kSuccess;
}
WEFT_EMULATED int nvmlDeviceGetP2PStatus(Handle, Handle, int, int* status) {
  *status = 0;  // NVML_P2P_STATUS_OK
  return kSuccess;
}
WEFT_EMULATED int nvmlDeviceGetPciInfo_v3(Handle handle, PciInfo* info) {
  *info = PciInfo{{}, handle->domain, handle->bus, handle->device, 0x20b010de, 0x134f10de};
  snprintf(info->bus_id_legacy, sizeof info->bus_id_legacy, "%s", handle->text().c_str());
  return kSuccess;
}
WEFT_EMULATED int nvmlDeviceGetPcieLinkMaxSpeed(Handle, int* mega_transfers) {
  *mega_transfers = 16000;
  return kSuccess;
}
WEFT_EMULATED int nvmlDeviceGetCurrPcieLinkGeneration(Handle, unsigned* generation) {
  *generation = 4;
  return kSuccess;
}
WEFT_EMULATED int nvmlDeviceGetCurrPcieLinkWidth(Handle, unsigned* lanes) {
  *lanes = 16;
  return kSuccess;
}
WEFT_EMULATED int nvmlDeviceGetNvLinkState(Handle, unsigned, int* active) {
  *active = 0;
  return kSuccess;
}
WEFT_EMULATED int nvmlDeviceGetNvLinkCapability(Handle, unsigned, int, unsigned* has) {
  *has = 0;
  return kSuccess;
}
WEFT_EMULATED int nvmlDeviceGetNvLinkRemotePciInfo(Handle, unsigned, void*) { return kNotSupported; }
WEFT_EMULATED int nvmlDeviceGetFieldValues(Handle, int, void*) { return kNotSupported; }
WEFT_EMULATED int nvmlDeviceGetGpuFabricInfoV(Handle, void*) { return kNotSupported; }
WEFT_EMULATED int nvmlDeviceGetPlatformInfo(Handle, void*) { return kNotSupported; }
WEFT_EMULATED int nvmlDeviceGetPciInfoExt(Handle, void*) { return kNotSupported; }
WEFT_EMULATED int nvmlSystemGetConfComputeState(void*) { return kNotSupported; }
WEFT_EMULATED int nvmlSystemGetConfComputeSettings(void*) { return kNotSupported; }
