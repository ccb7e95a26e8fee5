// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_CALIBRATE_H_
#define TUTTI_TOOLS_CALIBRATE_H_

#include "tune/machine.h"
#include "tutti/status.h"

namespace tutti::tools {

// Measures the constants of the cost model on this machine, with two ranks in processes of their own, in some seconds.
// The machine should be idle. REQUIRES: this process has one thread.
Result<tune::Machine> MeasureMachine();

// The constants that a communicator of this machine measures for itself at init (comm/agree/measure.h), asked of one.
// REQUIRES: as above.
Result<tune::Machine> MachineAtInit();

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_CALIBRATE_H_
