// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_RECORD_PROMETHEUS_H_
#define TUTTI_TOOLS_RECORD_PROMETHEUS_H_

#include <string>
#include <string_view>
#include <vector>

#include "diag/evidence.h"
#include "tools/top_jobs.h"

namespace tutti::tools {

// Jobs as Prometheus' text exposition: counters and states of ranks, and the verdicts that stand. Base units; a family for each
// name, with its help and type before its samples. docs/diagnosis.md lists them. A rank has some dozen series, however many
// peers and channels it has. REQUIRES: `jobs` is of FindJobs(..., now, ...). Pure; any thread.
std::string FormatPrometheus(const diag::Look& now, const std::vector<TopJob>& jobs);

// What stands between the quotes of a label: backslashes, quotes and line ends escaped, other bytes than printable ASCII as '?'.
std::string EscapeLabel(std::string_view value);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_RECORD_PROMETHEUS_H_
