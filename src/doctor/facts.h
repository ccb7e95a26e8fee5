// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_DOCTOR_FACTS_H_
#define TUTTI_DOCTOR_FACTS_H_

// What should be alike on all hosts of a job: versions, parameters of the kernel, what is set, which devices there are.

#include <span>
#include <string>
#include <vector>

#include "doctor/environment.h"
#include "doctor/finding.h"
#include "doctor/pci.h"
#include "doctor/root.h"
#include "sys/cuda/nvml.h"

namespace tutti::doctor {

struct Fact {
  std::string name;                     // "kernel", "NCCL_ALGO"
  std::string value;                    // empty: not known, or not set
  Severity severity = Severity::kWarn;  // of a difference

  bool operator==(const Fact&) const = default;
};

// One host's part of an examination.
struct HostReport {
  std::string host;
  Findings findings;
  std::vector<Fact> facts;

  bool operator==(const HostReport&) const = default;
};

// `version`: Tutti's own. `nvml`: null where there is none.
std::vector<Fact> ReadFacts(const Root& root, const std::string& version, const Environment& environment,
                            std::span<const PciLink> links, const sys::cuda::NvmlFacts* nvml);

// A finding for each fact that is not the same everywhere. It names the hosts that differ from most, and of two halves both.
Findings Compare(std::span<const HostReport> hosts);

// For sending it to another rank. Decode leaves out what it cannot read.
std::string Encode(const HostReport& report);
HostReport Decode(const std::string& bytes);

}  // namespace tutti::doctor

#endif  // TUTTI_DOCTOR_FACTS_H_
