// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/early.h"

#include <algorithm>

namespace tutti::plan {

std::vector<Early> EarlyOf(const RankPlan& plan) {
  using enum Operand::Kind;
  std::vector<int> stores(plan.out_blocks, 0), readers(plan.in_blocks, 0);
  for (int i = 0; i < plan.step_count(); ++i) {
    const Step step = plan.step(i);
    if (step.out != kNoBlock) ++stores[step.out];
    for (const Operand& operand : step.operands) {
      if (operand.kind != kIn) continue;
      readers[operand.index] += step.operands.size() > 1 ? 1 : std::max(static_cast<int>(step.to.size()), 1);
    }
  }
  // In place the rank's own value of the block may lie there. Of a collective that reduces, what arrives contains that value, so it
  // has been read, if there was but one that read it.
  const auto alone = [&](int block) { return block >= plan.in_blocks || readers[block] <= 1; };
  const auto allowed = [&](int out) {
    switch (plan.collective) {
      case Collective::kAllReduce:
      case Collective::kReduce:
        return alone(out) ? Early::kAlways : Early::kSeparate;
      case Collective::kReduceScatter:
        return alone(plan.rank * plan.out_blocks + out) ? Early::kAlways : Early::kSeparate;
      case Collective::kAllToAll:
        return Early::kSeparate;
      default:
        return Early::kAlways;  // who receives stores nothing where its own input lies
    }
  };
  std::vector<Early> early(plan.step_count(), Early::kNever);
  for (int i = 0; i < plan.step_count(); ++i) {
    const Step step = plan.step(i);
    const bool arrives = step.operands.size() == 1 && step.operands[0].kind == kRecv && step.out != kNoBlock;
    if (arrives && stores[step.out] == 1) early[i] = allowed(step.out);
  }
  if (std::ranges::all_of(early, [](Early e) { return e == Early::kNever; })) early.clear();
  return early;
}

}  // namespace tutti::plan
