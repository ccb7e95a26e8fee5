// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_HEALTH_REPORT_H_
#define TUTTI_TOOLS_HEALTH_REPORT_H_

// What `tutti health` prints.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "doctor/finding.h"
#include "tools/health_judge.h"
#include "tools/health_measure.h"
#include "tools/json.h"

namespace tutti::tools {

// What was found of one kind of memory.
struct HealthPart {
  std::string memory;  // "host memory"
  std::string notes;   // lines: what cannot be expected
  std::vector<HealthRound> rounds;
  std::vector<Transfer> transfers;
  std::size_t reduced_bytes = 0;
  HealthRank::Reduced reduced;
  std::optional<double> reduced_expected_us;
  doctor::Findings findings;
};

// A line for each round and size, with its worst transfer and the median.
std::string FormatPart(const HealthPart& part, const HealthShape& shape, const Thresholds& thresholds);
Json PartAsJson(const HealthPart& part, const HealthShape& shape, const Thresholds& thresholds);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_HEALTH_REPORT_H_
