// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_PLAN_EARLY_H_
#define TUTTI_PLAN_EARLY_H_

#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace tutti::plan {

// Whether what a step receives may be put where the step stores it as soon as it has been sent, before the step's turn: nothing else
// is read from that place, or written there, after that. kSeparate: if the output lies beside the input, not in place.
enum class Early : std::uint8_t { kNever, kSeparate, kAlways };

// For each step. Empty: all are kNever. The checker proves it (CheckOptions::early).
std::vector<Early> EarlyOf(const RankPlan& plan);

}  // namespace tutti::plan

#endif  // TUTTI_PLAN_EARLY_H_
