// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/cuda/nvml_health.h"

#include <fmt/format.h>

#include <algorithm>

#include "sys/os/device_tree.h"
#include "sys/os/shared_library.h"

namespace tutti::sys::cuda {
namespace {

using namespace nvml_abi;

using Device = void*;

// As in nvml.cc. Null: this NVML has no such function.
struct Functions {
  int (*Init)();
  int (*Shutdown)();
  int (*DeviceGetCount)(unsigned*);
  int (*DeviceGetHandleByIndex)(unsigned, Device*);
  int (*DeviceGetPciInfo)(Device, PciInfo*);
  int (*DeviceGetEccMode)(Device, int*, int*);
  int (*DeviceGetTotalEccErrors)(Device, int, int, unsigned long long*);
  int (*DeviceGetRemappedRows)(Device, unsigned*, unsigned*, unsigned*, unsigned*);
  int (*DeviceGetRetiredPagesPendingStatus)(Device, int*);
  int (*DeviceGetClockReasons)(Device, unsigned long long*);
  int (*DeviceGetClockInfo)(Device, int, unsigned*);
  int (*DeviceGetMaxClockInfo)(Device, int, unsigned*);
  int (*DeviceGetTemperature)(Device, int, unsigned*);
  int (*DeviceGetPowerUsage)(Device, unsigned*);
  int (*DeviceGetEnforcedPowerLimit)(Device, unsigned*);
  int (*DeviceGetFieldValues)(Device, int, FieldValue*);
  int (*DeviceGetNvLinkErrorCounter)(Device, unsigned, int, unsigned long long*);
};

template <typename F>
void Find(const SharedLibrary& library, const char* symbol, F& function) {
  function = reinterpret_cast<F>(library.Find(symbol));
}

Functions FindAll(const SharedLibrary& library) {
  Functions f{};
  Find(library, "nvmlInit_v2", f.Init);
  Find(library, "nvmlShutdown", f.Shutdown);
  Find(library, "nvmlDeviceGetCount_v2", f.DeviceGetCount);
  Find(library, "nvmlDeviceGetHandleByIndex_v2", f.DeviceGetHandleByIndex);
  Find(library, "nvmlDeviceGetPciInfo_v3", f.DeviceGetPciInfo);
  Find(library, "nvmlDeviceGetEccMode", f.DeviceGetEccMode);
  Find(library, "nvmlDeviceGetTotalEccErrors", f.DeviceGetTotalEccErrors);
  Find(library, "nvmlDeviceGetRemappedRows", f.DeviceGetRemappedRows);
  Find(library, "nvmlDeviceGetRetiredPagesPendingStatus", f.DeviceGetRetiredPagesPendingStatus);
  Find(library, "nvmlDeviceGetCurrentClocksEventReasons", f.DeviceGetClockReasons);
  // Its name before driver 535.
  if (f.DeviceGetClockReasons == nullptr) {
    Find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", f.DeviceGetClockReasons);
  }
  Find(library, "nvmlDeviceGetClockInfo", f.DeviceGetClockInfo);
  Find(library, "nvmlDeviceGetMaxClockInfo", f.DeviceGetMaxClockInfo);
  Find(library, "nvmlDeviceGetTemperature", f.DeviceGetTemperature);
  Find(library, "nvmlDeviceGetPowerUsage", f.DeviceGetPowerUsage);
  Find(library, "nvmlDeviceGetEnforcedPowerLimit", f.DeviceGetEnforcedPowerLimit);
  Find(library, "nvmlDeviceGetFieldValues", f.DeviceGetFieldValues);
  Find(library, "nvmlDeviceGetNvLinkErrorCounter", f.DeviceGetNvLinkErrorCounter);
  return f;
}

template <typename F, typename... Arguments>
bool Says(F function, Arguments... arguments) {
  return function != nullptr && function(arguments...) == kSuccess;
}

// By the field, which all but the newest GPUs have, or by the counter of older drivers.
std::optional<std::uint64_t> ErrorsOf(const Functions& f, Device device, unsigned link, unsigned field, int counter) {
  FieldValue value;
  value.field = field;
  value.scope = link;
  value.result = kNotSupported;  // an old NVML leaves fields that it does not know as they are
  if (Says(f.DeviceGetFieldValues, device, 1, &value) && value.result == kSuccess) {
    return value.type == kUnsigned ? value.as_unsigned : value.as_unsigned_long_long;
  }
  unsigned long long count = 0;
  if (Says(f.DeviceGetNvLinkErrorCounter, device, link, counter, &count)) return count;
  return std::nullopt;
}

std::vector<NvLinkErrors> ReadNvLinks(const Functions& f, Device device) {
  std::vector<NvLinkErrors> links;
  for (unsigned link = 0; link < kMostNvLinks; ++link) {
    const auto replays = ErrorsOf(f, device, link, kNvLinkReplays, kReplayCounter);
    const auto recoveries = ErrorsOf(f, device, link, kNvLinkRecoveries, kRecoveryCounter);
    const auto check_errors = ErrorsOf(f, device, link, kNvLinkCheckErrors, kCheckErrorCounter);
    if (!replays && !recoveries && !check_errors) break;  // behind the last one
    links.push_back({.number = static_cast<int>(link),
                     .replays = replays.value_or(0),
                     .recoveries = recoveries.value_or(0),
                     .check_errors = check_errors.value_or(0)});
  }
  return links;
}

NvmlHealth ReadGpu(const Functions& f, Device device, int index, HealthOf what) {
  NvmlHealth health{.index = index};
  PciInfo pci{};
  if (Says(f.DeviceGetPciInfo, device, &pci)) {
    health.bus_id = NormalBusId(fmt::format("{:x}:{:x}:{:x}.0", pci.domain, pci.bus, pci.device)).value_or("");
  }
  int ecc = 0, ecc_after_reset = 0;
  if (Says(f.DeviceGetEccMode, device, &ecc, &ecc_after_reset)) health.ecc = ecc != 0;
  unsigned long long errors = 0, reasons = 0;
  if (Says(f.DeviceGetTotalEccErrors, device, kCorrected, kVolatile, &errors)) health.corrected = errors;
  if (Says(f.DeviceGetTotalEccErrors, device, kUncorrected, kVolatile, &errors)) health.uncorrected = errors;
  RemappedRows rows;
  unsigned pending = 0, failed = 0;
  if (Says(f.DeviceGetRemappedRows, device, &rows.correctable, &rows.uncorrectable, &pending, &failed)) {
    rows.pending = pending != 0;
    rows.failed = failed != 0;
    health.rows = rows;
  }
  int pages = 0;
  if (Says(f.DeviceGetRetiredPagesPendingStatus, device, &pages)) health.pages_pending = pages != 0;
  if (Says(f.DeviceGetClockReasons, device, &reasons)) health.clock_reasons = reasons;
  (void)Says(f.DeviceGetClockInfo, device, kClockOfMultiprocessors, &health.clock_mhz);
  (void)Says(f.DeviceGetMaxClockInfo, device, kClockOfMultiprocessors, &health.most_clock_mhz);
  (void)Says(f.DeviceGetTemperature, device, kSensorOfGpu, &health.temperature_c);
  (void)Says(f.DeviceGetPowerUsage, device, &health.power_mw);
  (void)Says(f.DeviceGetEnforcedPowerLimit, device, &health.power_limit_mw);
  if (what == HealthOf::kGpusAndNvLinks) health.nvlinks = ReadNvLinks(f, device);
  return health;
}

}  // namespace

Result<std::vector<NvmlHealth>> ReadNvmlHealth(const std::string& name, HealthOf what) {
  constexpr unsigned kMostGpus = 256;
  const Result<SharedLibrary> library = SharedLibrary::Open(name);
  if (!library.ok()) return library.status();
  const Functions functions = FindAll(*library);
  if (functions.Init == nullptr || functions.Shutdown == nullptr) {
    return Status(Code::kUnsupported, fmt::format("{} has no nvmlInit_v2 or no nvmlShutdown; is it NVIDIA's?", name));
  }
  if (const int result = functions.Init(); result != kSuccess) {
    return Status(result == kDriverNotLoaded ? Code::kUnsupported : Code::kSystem,
                  fmt::format("NVML does not start ({}); does nvidia-smi run?", result));
  }
  std::vector<NvmlHealth> gpus;
  unsigned count = 0;
  (void)Says(functions.DeviceGetCount, &count);
  for (unsigned i = 0; i < std::min(count, kMostGpus); ++i) {
    Device device = nullptr;
    const bool answers = Says(functions.DeviceGetHandleByIndex, i, &device);
    gpus.push_back(answers ? ReadGpu(functions, device, static_cast<int>(i), what)
                           : NvmlHealth{.index = static_cast<int>(i)});
  }
  functions.Shutdown();
  return gpus;
}

}  // namespace tutti::sys::cuda
