// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/trace.h"

#include <gtest/gtest.h>

#include <string>

namespace tutti::sim {
namespace {

TEST(ChromeTrace, HasRanksTasksAndMessages) {
  Job job;
  job.operations = {{.name = "all\"reduce\n"}};
  job.tasks = {{.rank = 0, .stream = 2, .operation = 0}, {.rank = 1, .compute_us = 3}, {.rank = 1, .operation = 0}};
  Outcome outcome;
  outcome.rank_end = {0, 0};
  outcome.tasks = {{.start = FromUs(1), .end = FromUs(3.5)}, {.start = 0, .end = FromUs(3)}, {.start = FromUs(3)}};
  MessageLog log(1);
  log.Add({.operation = 0, .channel = 4, .from = 0, .to = 1, .wire_bytes = 128, .sent = 1500001, .arrived = FromUs(2)});
  log.Add({});
  EXPECT_EQ(log.left_out(), 1u);
  std::string text;
  WriteChromeTrace(job, outcome, &log, [&](std::string_view piece) { text += piece; });
  EXPECT_EQ(text,
            R"({"displayTimeUnit": "ns", "traceEvents": [
{"ph": "M", "pid": 0, "name": "process_name", "args": {"name": "rank 0"}},
{"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "rank 1"}},
{"ph": "X", "pid": 0, "tid": 2, "name": "all\"reduce\u000a", "ts": 1.000000, "dur": 2.500000},
{"ph": "X", "pid": 1, "tid": 0, "name": "compute", "ts": 0.000000, "dur": 3.000000},
{"ph": "b", "cat": "message", "id": 0, "pid": 0, "name": "to rank 1, channel 4", "ts": 1.500001, "args": {"bytes": 128}},
{"ph": "e", "cat": "message", "id": 0, "pid": 0, "name": "to rank 1, channel 4", "ts": 2.000000}
]}
)");
}

TEST(ChromeTrace, OfNothing) {
  std::string text;
  WriteChromeTrace({}, {}, nullptr, [&](std::string_view piece) { text += piece; });
  EXPECT_EQ(text, "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n]}\n");
}

}  // namespace
}  // namespace tutti::sim
