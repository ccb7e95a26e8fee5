// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/footprint.h"

#include <algorithm>

namespace tutti::plan {
namespace {

void Add(const RankPlan& plan, Footprint& footprint) {
  int sends = 0;
  std::vector<std::int32_t> peers;
  for (int i = 0; i < plan.step_count(); ++i) {
    const Step step = plan.step(i);
    if (step.to.empty()) continue;
    ++sends;
    peers.insert(peers.end(), step.to.begin(), step.to.end());
    const bool kept = step.out != kNoBlock || (step.operands.size() == 1 && step.operands[0].local());
    footprint.forwards |= !kept;
  }
  std::ranges::sort(peers);
  const int links = static_cast<int>(std::unique(peers.begin(), peers.end()) - peers.begin());
  footprint.window = std::max(footprint.window, std::min(sends * 2, links * (plan.link_slots + 1)) + 1);
  footprint.blocks_per_piece =
      std::max({footprint.blocks_per_piece, plan.in_blocks / InPieces(plan.collective, plan.ranks),
                plan.out_blocks / OutPieces(plan.collective, plan.ranks)});
}

}  // namespace

Footprint MeasureFootprint(std::span<const RankPlan> plans) {
  Footprint footprint{.collective = plans[0].collective, .link_slots = plans[0].link_slots};
  for (const RankPlan& plan : plans) Add(plan, footprint);
  return footprint;
}

Footprint Deepen(const Footprint& footprint, int times) {
  Footprint deeper = footprint;
  deeper.link_slots *= times;
  deeper.window = (footprint.window - 1) * times + 1;
  deeper.depth *= times;
  return deeper;
}

void TakeMost(const Footprint& other, Footprint& footprint) {
  footprint.link_slots = std::max(footprint.link_slots, other.link_slots);
  footprint.window = std::max(footprint.window, other.window);
  footprint.forwards |= other.forwards;
  footprint.blocks_per_piece = std::max(footprint.blocks_per_piece, other.blocks_per_piece);
}

}  // namespace tutti::plan
