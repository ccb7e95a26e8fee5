// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_SIM_STEPS_H_
#define TUTTI_TOOLS_SIM_STEPS_H_

// `tutti sim --workload`: how long training steps take, and how much of that is communication that computation does not hide.

#include "tutti/status.h"

namespace tutti::tools {

struct SimOptions;

// Prints one step with the times of each group of ranks; of several workloads or machines a line each. Writes --trace for what came
// last. kInvalidArgument: the command line is wrong.
Status SimulateSteps(const SimOptions& options);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_SIM_STEPS_H_
