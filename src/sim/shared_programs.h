// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SIM_SHARED_PROGRAMS_H_
#define TUTTI_SIM_SHARED_PROGRAMS_H_

#include <vector>

#include "sim/merge.h"
#include "sim/period.h"
#include "sim/program.h"

namespace tutti::sim {

class PlanSource;

// The programs of one period.
struct SharedPrograms {
  std::vector<Program> programs;    // by place in the period
  std::vector<Period::Ends> wires;  // of one period's senders
  int period = 1;
  int turns = 1;  // periods
};

// Where the plans of a channel of an operation are alike; REQUIRES: period > 0, which divides `ranks`, and blocks of equal size, or
// cut.equal_blocks. Merges nothing where steps have different stages.
SharedPrograms CompileShared(const PlanSource& plans, int ranks, int channel, const Cut& cut, Merge merge);

}  // namespace tutti::sim

#endif  // TUTTI_SIM_SHARED_PROGRAMS_H_
