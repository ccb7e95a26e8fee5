// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_SIM_SIZES_H_
#define TUTTI_TOOLS_SIM_SIZES_H_

// `tutti sim OP`: how long an operation takes, size by size. One algorithm, or the fastest one, gets a line with bandwidths and the
// busiest link; several get a column each and the fastest one's name.

#include "tutti/status.h"

namespace tutti::tools {

struct SimOptions;

// Prints a table for each machine; writes --trace and --goal for what came last. kInvalidArgument: the command line is wrong.
Status SimulateSizes(const SimOptions& options);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_SIM_SIZES_H_
