// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_DOCTOR_REPORT_H_
#define TUTTI_TOOLS_DOCTOR_REPORT_H_

// Findings as `tutti doctor` and `tutti health` show them.

#include <span>
#include <string>
#include <string_view>

#include "doctor/finding.h"
#include "tools/json.h"
#include "tutti/status.h"

namespace tutti::tools {

// A line for each finding, those with the worst news last, and one with the sum. What several hosts say alike is one line. `all`: also those
// that are OK.
std::string FormatFindings(std::span<const doctor::Finding> findings, int hosts, bool all);

// {"severity": ..., "exit_code": ..., "findings": [{"severity", "check", "host", "what", "evidence", "remedy"}, ...]}
Json FindingsAsJson(std::span<const doctor::Finding> findings);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_DOCTOR_REPORT_H_
