// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/ring_plans.h"

#include <utility>

namespace tutti::sim {

RingPlans::RingPlans(Collective collective, std::vector<topo::RankRing> rings)
    : collective_(collective), rings_(std::move(rings)) {
  for (const topo::RankRing& ring : rings_) {
    std::vector<int>& positions = positions_.emplace_back(ring.ranks.size());
    for (std::size_t i = 0; i < ring.ranks.size(); ++i) {
      positions[static_cast<std::size_t>(ring.ranks[i])] = static_cast<int>(i);
    }
  }
}

// Of channel 0 always: the ring itself says which way round it goes.
plan::RankPlan RingPlans::Build(int position, int channel) const {
  return algo::Get(algo::Algorithm::kRing)
      .build({.collective = collective_, .rank = position, .ranks = static_cast<int>(RingOf(channel).ranks.size())});
}

int RingPlans::RankAt(int position, int channel) const {
  return RingOf(channel).ranks[static_cast<std::size_t>(position)];
}

int RingPlans::PositionOf(int rank, int channel) const {
  return positions_[static_cast<std::size_t>(channel) % rings_.size()][static_cast<std::size_t>(rank)];
}

Ports RingPlans::PortsOf(int from, int /*to*/, int channel) const {
  const std::vector<topo::Crossing>& crossings = RingOf(channel).crossings;
  if (crossings.empty()) return {};
  const topo::Crossing& crossing = crossings[static_cast<std::size_t>(from)];
  return {.out = crossing.out, .in = crossing.in};
}

}  // namespace tutti::sim
