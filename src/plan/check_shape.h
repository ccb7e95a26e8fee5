// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_PLAN_CHECK_SHAPE_H_
#define TUTTI_PLAN_CHECK_SHAPE_H_

// The part of plan::Check that needs no execution: numbers within range, ranks that agree, blocks that fit.

#include <span>
#include <string>

#include "plan/plan.h"
#include "tutti/status.h"

namespace tutti::plan {

// How a collective's buffers are cut, the same on all ranks.
struct Shape {
  int blocks_per_piece = 1;
};

// REQUIRES: plans is not empty.
Result<Shape> CheckShape(std::span<const RankPlan> plans);

// "all_gather of 4 ranks", for messages.
std::string Describe(const RankPlan& plan);

// An error that names a rank and, where step >= 0, shows the step.
Status Fault(const RankPlan& plan, int step, const std::string& what);

}  // namespace tutti::plan

#endif  // TUTTI_PLAN_CHECK_SHAPE_H_
