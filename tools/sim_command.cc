// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/sim_command.h"

#include <fmt/format.h>

#include <cstdio>
#include <optional>

#include "tools/cli.h"
#include "tools/command_line.h"
#include "tools/sim_options.h"
#include "tools/sim_sizes.h"
#include "tools/sim_steps.h"

namespace tutti::tools {

int SimCommand(int argc, char** argv) {
  CommandLine line("Predict how long an operation or a training step takes on a machine, by simulating its plans.",
                   "tutti sim");
  SimOptions options;
  AddSimOptions(line, options);
  if (const std::optional<int> exit = line.Parse(argc, argv)) return *exit;
  if (options.collective.empty() == options.workloads.empty()) {
    return UsageError("tutti sim", "either OP or --workload FILE: what is to be simulated?");
  }
  const Status status = options.workloads.empty() ? SimulateSizes(options) : SimulateSteps(options);
  if (status.ok()) return kExitOk;
  if (status.code() == Code::kInvalidArgument) return UsageError("tutti sim", status.message());
  fmt::print(stderr, "tutti sim: {}\n", status.message());
  return kExitFailed;
}

}  // namespace tutti::tools
