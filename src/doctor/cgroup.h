// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_DOCTOR_CGROUP_H_
#define TUTTI_DOCTOR_CGROUP_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "doctor/finding.h"
#include "doctor/root.h"

namespace tutti::doctor {

// What the control groups of this process allow, the strictest of it and those above. Of versions 1 and 2.
struct CgroupLimits {
  bool known = false;          // this process has a control group that can be looked at
  std::string group;           // its name: "/system.slice/job"
  std::optional<double> cpus;  // nullopt: no limit, here and below
  std::optional<std::int64_t> memory_bytes, memory_left_bytes;
  std::optional<std::int64_t> tasks, tasks_left;
  std::int64_t periods = 0, throttled_periods = 0;  // of the CPU limit, since the group exists
  double throttled_s = 0;
  std::int64_t killed = 0;  // processes of the group that were killed for want of memory
};

// Reads about five files for each level.
CgroupLimits ReadCgroup(const Root& root);

// `cpus`: those that this process may run on by its affinity.
void ExamineCgroup(const CgroupLimits& limits, int cpus, Findings& findings);

}  // namespace tutti::doctor

#endif  // TUTTI_DOCTOR_CGROUP_H_
