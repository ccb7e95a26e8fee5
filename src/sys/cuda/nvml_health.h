// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_CUDA_NVML_HEALTH_H_
#define TUTTI_SYS_CUDA_NVML_HEALTH_H_

// What NVML says of the health of this host's GPUs: errors of memory and of NVLinks, power, clocks that are held down. nvml.h has what
// they are.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sys/cuda/nvml.h"
#include "tutti/status.h"

namespace tutti::sys::cuda {

// Rows of memory that were replaced by spare ones. From Ampere on.
struct RemappedRows {
  unsigned correctable = 0, uncorrectable = 0;  // for which kind of error
  bool pending = false;                         // some are only replaced by a reset
  bool failed = false;                          // there was no spare row
};

// Errors of an NVLink since the driver was loaded.
struct NvLinkErrors {
  int number = 0;                  // as NvLink::number
  std::uint64_t replays = 0;       // of messages that were sent again
  std::uint64_t recoveries = 0;    // of a link that was trained again
  std::uint64_t check_errors = 0;  // messages that came with a wrong check sum
};

struct NvmlHealth {
  int index = 0;  // as NVML counts
  std::string bus_id;
  std::optional<bool> ecc;  // whether memory is checked; nullopt here and below: not known, or there is no such thing
  std::optional<std::uint64_t> corrected, uncorrected;  // errors of memory since the driver was loaded
  std::optional<RemappedRows> rows;
  std::optional<bool> pages_pending;           // pages wait for a reset to be retired; before Ampere
  std::optional<std::uint64_t> clock_reasons;  // why clocks are below their best: bits of nvml_abi
  unsigned clock_mhz = 0, most_clock_mhz = 0;  // of the multiprocessors; 0: not known
  unsigned temperature_c = 0;                  // 0: not known
  unsigned power_mw = 0, power_limit_mw = 0;   // 0: not known
  std::vector<NvLinkErrors> nvlinks;           // of those of which something is known
};

// By index; of a GPU that does not answer only the index. Codes as of ReadNvml. Threads: any. NVLinks cost three calls more for each.
enum class HealthOf : std::uint8_t { kGpus, kGpusAndNvLinks };
Result<std::vector<NvmlHealth>> ReadNvmlHealth(const std::string& library = kNvmlLibrary,
                                               HealthOf what = HealthOf::kGpus);

namespace nvml_abi {

inline constexpr std::uint64_t kIdle = 0x1, kApplicationClocks = 0x2, kPowerCap = 0x4, kHardwareSlowdown = 0x8,
                               kSyncBoost = 0x10, kSoftwareThermal = 0x20, kHardwareThermal = 0x40,
                               kHardwarePowerBrake = 0x80, kDisplayClocks = 0x100;
inline constexpr int kCorrected = 0, kUncorrected = 1;  // kinds of errors
inline constexpr int kVolatile = 0;                     // counters since the driver was loaded
inline constexpr int kClockOfMultiprocessors = 1;
inline constexpr int kSensorOfGpu = 0;
// Errors of an NVLink: as fields, and as counters of a call that drivers had before.
inline constexpr unsigned kNvLinkReplays = 161, kNvLinkRecoveries = 162, kNvLinkCheckErrors = 163;
inline constexpr int kReplayCounter = 0, kRecoveryCounter = 1, kCheckErrorCounter = 3;

}  // namespace nvml_abi

}  // namespace tutti::sys::cuda

#endif  // TUTTI_SYS_CUDA_NVML_HEALTH_H_
