// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_PERF_TABLE_H_
#define TUTTI_TOOLS_PERF_TABLE_H_

// The table of `tutti perf` as text: nccl-tests' lines, character for character, so that what reads its
// output reads ours. Every function returns whole lines with their newlines.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tools/perf_options.h"

namespace tutti::tools {

// One half of a row.
struct Measurement {
  double time_us = 0;
  double algorithm_gbps = 0;  // GB/s
  double bus_gbps = 0;
  std::optional<std::int64_t> wrong;  // elements, over all ranks; none where nothing was checked
};

struct Row {
  std::size_t bytes = 0;
  std::size_t count = 0;
  DataType type = DataType::kFloat32;
  std::string_view op = "none";
  int root = -1;  // where there is none
  Measurement out_of_place;
  std::optional<Measurement> in_place;  // none where the operation has no such form
  std::string algorithm, protocol;      // printed where the table has these columns
  int channels = 1;
};

// A rank as the header lists it.
struct RankInfo {
  int rank = 0;
  int pid = 0;
  std::string host;
  int local_rank = 0;  // among the ranks of its host
  std::string device;  // the processor's name
};

// At most `width` characters, right-aligned: as many of two decimals as fit, then an exponent.
std::string FormatNumber(double value, int width);

enum class Columns { kStandard, kWithChoice };

// "# tutti version ..." to "# Using devices"; then a line per rank; then the column titles.
std::string FormatHeader(const PerfOptions& options);
std::string FormatDevice(const RankInfo& info);
std::string FormatTitles(Columns columns);
std::string FormatRow(const Row& row, Columns columns);

struct Summary {
  std::int64_t wrong = 0;     // over all rows, elements
  double mean_bus_gbps = 0;   // over all measurements
  double required_gbps = -1;  // NCCL_TESTS_MIN_BW; -1: not set
  std::string error;          // what ended the run early, or empty
  bool fast_enough() const { return required_gbps < 0 || mean_bus_gbps >= 0.9 * required_gbps; }
};
std::string FormatFooter(const Summary& summary, Collective collective);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_PERF_TABLE_H_
