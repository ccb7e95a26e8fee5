// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_PLAN_EXPLAIN_H_
#define TUTTI_TOOLS_PLAN_EXPLAIN_H_

// `tutti plan OP --explain`: which plan a communicator would choose on a machine, and why.

#include <string>

#include "tools/command_line.h"
#include "tools/predictor_source.h"

namespace tutti::tools {

struct ExplainOptions {
  bool wanted = false;
  PredictorSource source;
  std::string bytes = "1M";
  std::string json;  // of --json: written instead; "-" is the standard output
};
// --explain, and what goes with it; hosts and ranks are those of `tutti plan`.
void AddExplain(CommandLine& line, ExplainOptions& options);
// `hosts`: "4", or with the ranks of each "4x8"; empty: 1. `ranks`: of each host; 0: not said. Returns an exit code of cli.h.
int ExplainPlan(ExplainOptions options, const std::string& collective, const std::string& hosts, int ranks);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_PLAN_EXPLAIN_H_
