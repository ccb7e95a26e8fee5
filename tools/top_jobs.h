// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_TOP_JOBS_H_
#define TUTTI_TOOLS_TOP_JOBS_H_

// What `tutti top` says of whole jobs: processes that share communicators, and the verdicts on them (docs/diagnosis.md).

#include <cstdint>
#include <string>
#include <vector>

#include "diag/evidence.h"
#include "diag/verdict.h"
#include "tools/json.h"

namespace tutti::tools {

// As monitoring programs have it; the values are exit codes.
enum class JobStatus : std::uint8_t { kOk = 0, kWarning = 1, kCritical = 2, kUnknown = 3 };
// "OK", "WARNING", "CRITICAL", "UNKNOWN"
const char* Name(JobStatus status);
// Of the two the one to report: critical, then warning, then unknown.
JobStatus Worse(JobStatus one, JobStatus other);
// What a verdict makes of its job. One below WARN leaves it well; of the others what may end by itself is a warning.
JobStatus StatusOf(const diag::Verdict& verdict);

struct TopJob {
  std::vector<const diag::ProcessLook*> processes;           // those of this host first
  std::vector<const diag::CommunicatorLook*> communicators;  // the one with most ranks first
  int ranks = 0;                                             // of that one
  int hosts = 0;                                             // of the processes
  double calls_per_s = 0;                                    // of the rank that makes most
  std::vector<diag::Verdict> verdicts;
  JobStatus status = JobStatus::kOk;

  bool Has(std::int32_t pid) const;
};

// The jobs of the later look, which outlives them, in the order of their lowest process.
std::vector<TopJob> FindJobs(const diag::Look& before, const diag::Look& now,
                             const std::vector<diag::Verdict>& verdicts);
JobStatus StatusOf(const std::vector<TopJob>& jobs);

// A line for each job, and one below it for each verdict that is loud enough.
std::string FormatJobs(const std::vector<TopJob>& jobs);
// "WARN rank 3 (host a, pid 77) is stopped; ...", a line for each.
std::string FormatVerdicts(const std::vector<diag::Verdict>& verdicts);
Json VerdictsAsJson(const std::vector<diag::Verdict>& verdicts);
Json JobsAsJson(const diag::Look& now, const std::vector<TopJob>& jobs);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_TOP_JOBS_H_
