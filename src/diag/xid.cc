// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "diag/xid.h"

#include <algorithm>
#include <array>

namespace tutti::diag {
namespace {

constexpr const char* kSanitize =
    "Run the program with compute-sanitizer; where it happens on this GPU only, suspect the GPU";
constexpr const char* kReset =
    "Drain the host and reset the GPU (nvidia-smi --gpu-reset), or reboot; if it comes back, replace the GPU";
constexpr const char* kMemory =
    "Drain the host and reset the GPU (nvidia-smi --gpu-reset); if it comes back, replace the GPU";
constexpr const char* kFirmware =
    "Reset the GPU (nvidia-smi --gpu-reset) or reboot the host; if it comes back, try another version of the driver";

constexpr std::array<Xid, 16> kXids = {{
    {13, XidSign::kProgram, "a kernel did something that the GPU refuses, as an access out of bounds", kSanitize},
    {31, XidSign::kProgram, "a kernel used an address that is not mapped", kSanitize},
    {43, XidSign::kAftermath, "work of the program was stopped after an error", "Look for the program's first error"},
    {45, XidSign::kAftermath, "work on the GPU was taken away, as when its process ends",
     "Look for what came before: an earlier Xid, or who ended the process"},
    {48, XidSign::kGpu, "an error of its memory that could not be corrected", kMemory},
    {61, XidSign::kGpu, "a controller inside the GPU met a fault", kReset},
    {62, XidSign::kGpu, "a controller inside the GPU has halted", kReset},
    {63, XidSign::kWarning, "a bad part of its memory is marked to be replaced",
     "Reset the GPU (nvidia-smi --gpu-reset) when the job has ended, which replaces it"},
    {64, XidSign::kGpu, "a bad part of its memory could not be marked to be replaced", kMemory},
    {kNvLinkXid, XidSign::kNvLink, "an NVLink had an error",
     "Look at nvidia-smi nvlink --status and --errorcounters, at bridges and the fabric manager's log; then reset the "
     "GPUs at both ends"},
    {79, XidSign::kGpu, "the GPU is gone from the PCIe bus",
     "Leave the host out and power it off and on; look at power, cooling and the seat of the GPU"},
    {92, XidSign::kWarning, "many errors of its memory were corrected",
     "Watch it: nvidia-smi -q -d ECC; if they go on, replace the GPU"},
    {94, XidSign::kGpu, "an error of its memory could not be corrected, and hit one program only",
     "Start the program again; reset the GPU (nvidia-smi --gpu-reset) when the host is idle"},
    {95, XidSign::kGpu, "an error of its memory could not be corrected, and may have hit all programs", kMemory},
    {119, XidSign::kGpu, "the GPU's system processor (GSP) does not answer the driver", kFirmware},
    {120, XidSign::kGpu, "the GPU's system processor (GSP) met a fault", kFirmware},
}};

}  // namespace

const Xid& FindXid(int number) {
  static constexpr Xid kOther{.meaning = "", .next_step = "Look the number up in NVIDIA's list of Xid errors"};
  const auto found = std::ranges::find(kXids, number, &Xid::number);
  return found == kXids.end() ? kOther : *found;
}

}  // namespace tutti::diag
