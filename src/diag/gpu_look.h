// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_DIAG_GPU_LOOK_H_
#define TUTTI_DIAG_GPU_LOOK_H_

// What the system says of a GPU: errors that its driver has reported, and what NVIDIA's management library (NVML) tells of its health.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tutti::diag {

// An error that the driver has written into the kernel's log. NVIDIA calls its number Xid (xid.h).
struct XidLook {
  std::int32_t number = 0;
  std::int64_t at_ns = 0;  // about when, as Look::taken_ns counts; 0: not known
};

// Why clocks are below their best. Bits.
enum Throttle : std::uint32_t {
  kPowerCap = 1,      // it takes as much power as it may
  kPowerBrake = 2,    // the host's power supply asks for less
  kTooHot = 4,        // by the hardware's own decision
  kNearlyTooHot = 8,  // by the driver's
  kHeldByHardware = 16,
  kSetByUser = 32,
};

// An NVLink that is down although others of its kind are up, or has counted errors.
struct NvLinkLook {
  std::int32_t number = 0;
  bool down = false;
  std::string to;  // bus id of the GPU at its other end; empty: a switch, or not known
  // Since the GPU was first asked: messages sent again, times that the link was trained again, messages with a wrong check sum.
  std::uint64_t replays = 0, recoveries = 0, check_errors = 0;
};

// A GPU that a rank's communicator uses. What has not been asked or is not known has the value that its field names.
// Long because a field is what one question asks for.
struct GpuLook {
  std::string bus_id;          // "0000:3b:00.0"
  std::vector<XidLook> xids;   // since the communicator was made, the earliest first
  std::int64_t silent_ns = 0;  // how long NVML has not answered; 0: it does, or is not asked
  bool lost = false;           // NVML answers, and does not reach this GPU
  // Errors of memory that could not be corrected: since the driver was loaded, and since the GPU was first asked.
  std::optional<std::uint64_t> uncorrected, uncorrected_rise;
  bool rows_pending = false;                         // rows of memory wait for a reset to be replaced
  bool rows_failed = false;                          // one could not be
  std::uint32_t clock_mhz = 0, most_clock_mhz = 0;   // 0: not known
  std::uint32_t throttle = 0;                        // Throttle
  std::uint32_t power_w = 0, power_limit_w = 0;      // 0: not known
  std::uint32_t temperature_c = 0;                   // 0: not known
  std::int32_t nvlinks_up = -1, nvlinks_usual = -1;  // usual: of the GPUs of its model on this host; -1: not known
  std::vector<NvLinkLook> nvlinks;
};

}  // namespace tutti::diag

#endif  // TUTTI_DIAG_GPU_LOOK_H_
