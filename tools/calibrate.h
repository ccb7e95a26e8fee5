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

// What choices in host memory go by here, as two ranks find out when they make a communicator: constants that are stored for this
// machine, or that it measures for itself (comm/agree/measure.h). REQUIRES: as above.
struct AtInit {
  tune::Machine machine;
  bool can_refer = false;  // ranks may read each other's memory
  int cpus = 1;
};
Result<AtInit> AskAtInit();
// The constants of that.
Result<tune::Machine> MachineAtInit();

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_CALIBRATE_H_
