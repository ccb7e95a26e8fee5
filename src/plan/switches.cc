// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/switches.h"

#include <fmt/format.h>

#include "plan/check_shape.h"
#include "plan/text.h"

namespace tutti::plan {
namespace {

// The first step that needs one; -1: none does.
int FindSwitchStep(const RankPlan& plan) {
  for (int i = 0; i < plan.step_count(); ++i) {
    const Step step = plan.step(i);
    if (step.sending != Sending::kEach || step.offers() > 0) return i;
  }
  return -1;
}

}  // namespace

bool UsesSwitches(const RankPlan& plan) { return FindSwitchStep(plan) >= 0; }

bool FoldsInSwitches(std::span<const RankPlan> plans) {
  for (const RankPlan& plan : plans) {
    for (int i = 0; i < plan.step_count(); ++i) {
      if (plan.step(i).offers() > 1) return true;
    }
  }
  return false;
}

Status CheckRunnable(const RankPlan& plan) {
  const int step = FindSwitchStep(plan);
  if (step < 0) return Status::Ok();
  return Status(
      Code::kUnsupported,
      fmt::format(
          "{}: rank {}, step {} '{}' needs a switch that copies or folds; such plans are for the checker and the "
          "simulator only, so choose another algorithm",
          Describe(plan), plan.rank, step, Print(plan.step(step))),
      plan.rank);
}

}  // namespace tutti::plan
