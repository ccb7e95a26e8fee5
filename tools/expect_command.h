// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_EXPECT_COMMAND_H_
#define TUTTI_TOOLS_EXPECT_COMMAND_H_

#include <optional>

#include "topo/machine.h"
#include "tune/nccl_machine.h"
#include "tutti/status.h"

namespace tutti::tools {

// `tutti expect`: what an operation should take on a machine, as nccl-tests prints it. Returns an exit code of cli.h.
int ExpectCommand(int argc, char** argv);

// The figures that NCCL's times follow from. Fails where the hosts have no GPU, or no card although there are several.
Result<tune::NcclMachine> NcclMachineOf(const topo::Machine& machine, int hosts);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_EXPECT_COMMAND_H_
