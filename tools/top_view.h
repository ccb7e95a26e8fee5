// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_TOP_VIEW_H_
#define TUTTI_TOOLS_TOP_VIEW_H_

// What `tutti top PID` shows: the black boxes of another process, put into words.

#include <cstdint>
#include <string>
#include <vector>

#include "tools/json.h"
#include "tools/top_boxes.h"
#include "trace/view.h"

namespace tutti::tools {

// One rank of one communicator, ready to be shown.
struct TopRow {
  std::uint64_t communicator = 0;
  std::string name;
  int rank = 0;
  int ranks = 0;
  std::uint64_t called = 0;    // calls so far
  std::uint64_t finished = 0;  // of them have ended
  bool busy = false;
  trace::CallRecord call;  // the one that runs, or the last one where none does; number 0: none is known
  std::string algorithm;   // "ring Simple x2"
  // How long the call has run, or how long ago the last one was called, ns; -1: not known. kAtMost: the call was made at
  // some moment after the latest one for which a clock was read.
  std::int64_t age_ns = -1;
  enum class Age { kExact, kAtMost, kAtLeast } age = Age::kExact;
  trace::WaitView wait;
  std::int64_t waited_ns = 0;
  std::string failure;
  double calls_per_s = 0;
  double bytes_per_s = 0;  // of the calls' counts
};

// `before` may be empty: then there are no rates.
std::vector<TopRow> MakeRows(const std::vector<BoxCopy>& boxes, const std::vector<BoxCopy>& before);

// "data of rank 2 for 3.1 s"; "" where it waits for nothing that was written down.
std::string DescribeWait(const TopRow& row);
// A head and a line for each row.
std::string FormatTable(const std::vector<TopRow>& rows);
std::string FormatRows(std::int32_t pid, const std::vector<TopRow>& rows);
// With the last calls and all links of each black box too.
Json RowsAsJson(std::int32_t pid, const std::vector<BoxCopy>& boxes, const std::vector<TopRow>& rows);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_TOP_VIEW_H_
