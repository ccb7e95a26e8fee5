// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_PLAN_SWITCHES_H_
#define TUTTI_PLAN_SWITCHES_H_

// Plans whose values switches copy or fold (plan.h, "Switches"): which they are, and why nobody runs them.

#include <span>

#include "plan/plan.h"
#include "tutti/status.h"

namespace tutti::plan {

// Whether a step of the plan multicasts, offers, or reads what others offer.
bool UsesSwitches(const RankPlan& plan);

// Whether a switch folds several values for one of the ranks. Its order is not said, so two runs may differ in the last bits of what
// depends on the order.
bool FoldsInSwitches(std::span<const RankPlan> plans);

// For executors, which know only messages: kUnsupported, with a sentence that names the first step that needs a switch.
Status CheckRunnable(const RankPlan& plan);

}  // namespace tutti::plan

#endif  // TUTTI_PLAN_SWITCHES_H_
