// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_NCCL_POINTS_H_
#define TUTTI_TOOLS_NCCL_POINTS_H_

// Measured times of NCCL as text, and machines by the names that people give them: what tests/planning/points holds. The files are
// comma-separated with a line of names first; lines that begin with "#" are comments.

#include <string>
#include <string_view>
#include <vector>

#include "tune/nccl_model.h"
#include "tutti/status.h"

namespace tutti::tools {

// One operation on one cluster with one set of settings.
struct NcclSeries {
  std::string name, group, cluster, source;
  std::vector<tune::NcclPoint> points;  // as the file has them
};

// Fails, with the line, for what cannot be read. `series` and `points` are the texts of series.csv and points.csv.
Result<std::vector<NcclSeries>> ParseNcclPoints(std::string_view series, std::string_view points);

// The fields of each line behind the first, which must be `names`. Fails, with the line, where their number differs.
Result<std::vector<std::vector<std::string>>> ParseCsv(std::string_view text, std::string_view names);

// The rings of hosts with 8 GPUs and 8 cards that the table of ring efficiencies is about, all_gather; what its shares are of.
// LL takes part up to 64 KiB per rank and LL128 up to 4 MiB: there the table has steps.
struct RingEfficiency {
  int hosts = 0;
  double bytes = 0;
  double share = 0;  // of the cards
};
Result<std::vector<RingEfficiency>> ParseRingEfficiency(std::string_view text);
double PredictRingEfficiency(const tune::NcclConstants& constants, const RingEfficiency& point);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_NCCL_POINTS_H_
