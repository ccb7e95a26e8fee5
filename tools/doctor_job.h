// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_DOCTOR_JOB_H_
#define TUTTI_TOOLS_DOCTOR_JOB_H_

// An examination by the ranks of a job: the first rank of each host examines it, and rank 0 gets to know of all.

#include <vector>

#include "doctor/examine.h"
#include "doctor/facts.h"
#include "tutti/communicator.h"
#include "tutti/status.h"

namespace tutti::tools {

struct JobReport {
  std::vector<doctor::HostReport> hosts;  // in the order of their first ranks; at rank 0 only
  doctor::Findings between;               // what concerns several: differences; likewise
};

// Collective. Examines this host where this is its first rank, its paths to some others with full packets, and the offset of its clock
// from that of rank 0's host.
Result<JobReport> ExamineJob(Communicator& communicator, const doctor::ExamineOptions& options);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_DOCTOR_JOB_H_
