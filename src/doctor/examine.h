// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_DOCTOR_EXAMINE_H_
#define TUTTI_DOCTOR_EXAMINE_H_

// Examines this host before a job: everything that can be found out in some tenths of a second without another host. Never refuses
// anything, and changes nothing.

#include <cstdint>
#include <string>

#include "doctor/environment.h"
#include "doctor/facts.h"
#include "doctor/finding.h"
#include "sys/cuda/nvml.h"

namespace tutti::doctor {

struct ExamineOptions {
  std::string root;  // goes before /sys, /proc and /dev
  std::string nvml_library = sys::cuda::kNvmlLibrary;
  std::string version;      // Tutti's own
  Environment environment;  // without interfaces: those are found out
};

// All of it. Takes as long as NVML needs where there are GPUs, else some ten ms. Threads: any.
HostReport ExamineHost(const ExamineOptions& options);

// What a few file reads say: limits, control groups, permissions, contradictions in the environment, widths of PCIe links. No NVML and
// no packets. Leaves out what would take longer than `budget_ns`. Only what is not OK.
Findings ExamineQuickly(const std::string& root, const Environment& environment, std::int64_t budget_ns);

}  // namespace tutti::doctor

#endif  // TUTTI_DOCTOR_EXAMINE_H_
