// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_CPU_PREPARED_PLAN_H_
#define TUTTI_EXEC_CPU_PREPARED_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "exec/cpu/lane.h"
#include "plan/footprint.h"
#include "plan/plan.h"
#include "tutti/status.h"

namespace tutti::plan {
enum class Early : std::uint8_t;
}

namespace tutti::exec::cpu {

// A rank's plan with what the executor asks of it for every operation, found out once.
struct PreparedPlan {
  plan::RankPlan plan;
  std::string name;  // for messages: "all_reduce two_shot"
  int in_blocks_per_piece = 1;
  int out_blocks_per_piece = 1;
  int max_stage = 0;
  std::vector<int> by_stage;  // all steps in the order of their stages: that of a single round
  plan::Footprint footprint;
  // Groups of sends and receives: per step the step before it on the same link in the same direction, or -1.
  std::vector<int> previous;
  // And whether there is no other step on that link in that direction, and whether there is one in the other direction.
  std::vector<bool> alone, answered;
  std::vector<Sharing> sharing;    // per step
  std::vector<plan::Early> early;  // plan::EarlyOf
  // Whether finished values come to this rank that it only has to store, and for each step whether its value is one for those who get it.
  bool takes_values = false;
  std::vector<bool> puts;
  // Per step: the received operand of a fold that may lie where the value will be from its arrival on; -1: none. That is a block of the
  // output that nothing else uses, or scratch memory.
  std::vector<int> folds_in_place;
  // Messages by pool that are longer are read through the first mapping of the pool (transport::kLongestFoldedAlone).
  std::size_t long_bytes_max = kAnyLength;
  // Not ok: the plan needs switches, and the engine ends its jobs with this (plan/switches.h).
  Status runnable;
  // Where blocks are read straight from the sender's buffers, they may be in place too (algo::Entry::in_place_by_reference).
  bool refers_in_place = false;
};

// Fills in what follows from the plan alone: all but footprint and refers_in_place.
std::unique_ptr<PreparedPlan> PreparePlan(plan::RankPlan plan, std::string name);

}  // namespace tutti::exec::cpu

#endif  // TUTTI_EXEC_CPU_PREPARED_PLAN_H_
