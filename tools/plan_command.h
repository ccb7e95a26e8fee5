// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_PLAN_COMMAND_H_
#define TUTTI_TOOLS_PLAN_COMMAND_H_

namespace tutti::tools {

// `tutti plan OP --algo A --ranks N`: prints, checks, damages, draws and measures plans. argv[0] is "plan".
// Returns the process's exit code: kExitFailed when the checker finds a fault.
int PlanCommand(int argc, char** argv);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_PLAN_COMMAND_H_
