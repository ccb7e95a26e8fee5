// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_PLAN_SVG_H_
#define TUTTI_TOOLS_PLAN_SVG_H_

#include <span>
#include <string>
#include <string_view>

#include "plan/plan.h"

namespace tutti::tools {

// More ranks do not make a picture.
inline constexpr int kMaxDrawnRanks = 32;

// One round of a plan as a self-contained SVG: a row per rank, a column per hop, a box per step with what the
// rank itself adds and stores, an arrow per message: dashed where a switch copies, dotted where it folds. More than three alike
// of a rank in one hop share a box. Where every rank sends many messages in a single hop, as in an all_to_all, a column
// holds one message of each rank. REQUIRES: every index within range; at most kMaxDrawnRanks plans.
std::string DrawPlan(std::string_view title, std::span<const plan::RankPlan> plans);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_PLAN_SVG_H_
