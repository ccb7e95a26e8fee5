// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_PERF_REPORT_H_
#define TUTTI_TOOLS_PERF_REPORT_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tools/perf_json.h"
#include "tools/perf_options.h"
#include "tools/perf_table.h"
#include "tools/progress_line.h"

namespace tutti::tools {

// What rank 0 shows: the table on stdout, the JSON file, and, while both outputs are a terminal, one line on
// stderr that says what runs right now. The other ranks have a silent one.
class PerfReport {
 public:
  enum class Voice { kSpeaks, kSilent };
  // REQUIRES: `options` outlives the report.
  PerfReport(const PerfOptions& options, Voice voice);

  // Prints everything above the rows. Fails where the JSON file cannot be created.
  Status Begin(std::span<const RankInfo> ranks);
  // A row is complete. Counts its wrong elements and its bandwidths.
  void Add(const Row& row);
  // A line of its own between rows: "# " and the text.
  void Note(std::string_view text);
  // A line as it is.
  void Line(std::string_view text);
  // Something runs that may take long. Shown until the next call of any function.
  void Progress(std::string_view what);
  // The lines below the table. `error`: what ended the run early, or "".
  Status Finish(const std::string& error);

  std::int64_t wrong() const { return summary_.wrong; }
  bool fast_enough() const { return summary_.fast_enough(); }

 private:
  void Print(std::string_view text);

  const PerfOptions& options_;
  const bool speaks_;
  const Columns columns_;
  ProgressLine progress_;
  std::optional<JsonReport> json_;
  Summary summary_;
  double bus_sum_ = 0;
  int measurements_ = 0;
};

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_PERF_REPORT_H_
