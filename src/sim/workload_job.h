// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SIM_WORKLOAD_JOB_H_
#define TUTTI_SIM_WORKLOAD_JOB_H_

// A workload as a job for the simulator, and what its outcome says: how long the step takes, and which communication computation does
// not hide.
//
// A rank computes on stream 0. The collectives of a group, or of several that are named together, are on a stream of their own, as are
// sends and receives of each direction. What
// is not "beside" follows what the rank has done before and is followed by what comes next. Collectives of a group meet in the order in
// which its members call them; the i-th send to a rank meets that rank's i-th receive.
//
// The time from the end of a rank's computation until all is over that its next one waits for is exposed. Each moment of it counts once,
// for the operation that ends next of those that are waited for. Of that, what lies before the last rank has begun the operation is
// waiting for others; so a pipeline's bubble is waiting for its receives.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/job.h"
#include "sim/ways.h"
#include "sim/workload.h"

namespace tutti::sim {

struct WorkloadJob {
  Job job;
  // By rank: its computations and what it waits for before the next one, in order.
  struct Stop {
    int task = 0;
    bool computes = false;
  };
  std::vector<std::vector<Stop>> stops;
  // By operation: of Workload::groups and Workload::joined; those behind them: all ranks, transfers.
  std::vector<int> group_of;
};

// More tasks are refused: they would fill the memory, at some 100 bytes each.
inline constexpr std::size_t kMostTasks = 50'000'000;

// `machine` needs as many ranks as the workload has; the first group's members are ranks next to each other. `choose` says how operations
// are done of which the workload does not say it.
Result<WorkloadJob> MakeWorkloadJob(const Workload& workload, const Machine& machine, const Chooser& choose);

struct WorkloadTimes {
  double step_us = 0;
  double compute_us = 0;  // of a rank, the mean of all
  struct Communication {
    std::string name;  // of the group; "all", "pipeline transfers"
    double busy_us =
        0;  // from where the last rank has begun an operation until it is over at a rank: all of a rank's, the mean of ranks
    double exposed_us = 0;  // of that, what computation does not hide
    double waiting_us = 0;  // exposed while other ranks had not begun the operation
  };
  std::vector<Communication> communication;  // of what the workload has
  double exposed_us = 0;                     // of all together
  // Model FLOPs utilisation: 6 operations for each parameter and token, as a part of what all ranks could have computed in the step
  // (Chowdhery et al., "PaLM", 2022, appendix B, without the term of attention). Nothing: the workload does not say the model or the
  // rate of a GPU.
  std::optional<double> utilisation;
};

WorkloadTimes Summarize(const Workload& workload, const WorkloadJob& job, const Outcome& outcome);

}  // namespace tutti::sim

#endif  // TUTTI_SIM_WORKLOAD_JOB_H_
