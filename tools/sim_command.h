// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_SIM_COMMAND_H_
#define TUTTI_TOOLS_SIM_COMMAND_H_

namespace tutti::tools {

// `tutti sim`: how long an operation, or a training step, takes on a machine that need not be there. Returns an exit code of cli.h.
int SimCommand(int argc, char** argv);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_SIM_COMMAND_H_
