// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_DOCTOR_GPUS_H_
#define TUTTI_DOCTOR_GPUS_H_

#include <vector>

#include "doctor/finding.h"
#include "sys/cuda/nvml.h"
#include "sys/cuda/nvml_health.h"

namespace tutti::doctor {

// NVLinks that are down, or fewer than others of this host have; PCIe as NVML sees it; pairs that may not exchange.
void ExamineGpus(const sys::cuda::NvmlFacts& facts, Findings& findings);
// Errors of memory, and clocks that are held down.
void ExamineGpuHealth(const std::vector<sys::cuda::NvmlHealth>& gpus, Findings& findings);

}  // namespace tutti::doctor

#endif  // TUTTI_DOCTOR_GPUS_H_
