// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/prediction.h"

#include <limits>
#include <vector>

namespace tutti::topo {
namespace {

// `loads`: of every arc for one byte of the bus bandwidth.
Prediction FindFullest(const Placement& placement, std::span<const double> loads) {
  Prediction prediction{.gb_per_s = std::numeric_limits<double>::infinity(), .link = -1, .from = -1};
  for (std::size_t i = 0; i < loads.size(); ++i) {
    if (loads[i] <= 0) continue;
    const auto arc = static_cast<Arc>(i);
    const double most = placement.RateOf(arc) / loads[i];
    if (most >= prediction.gb_per_s) continue;
    prediction.gb_per_s = most;
    prediction.link = placement.LinkAt(arc);
    if (prediction.link < 0) continue;
    const Link& link = placement.graph().link(prediction.link);
    const bool is_link = LinkOf(arc) == prediction.link;
    // Of a port's own arcs: out of it, or into it.
    const int port = LinkOf(arc) - static_cast<int>(placement.graph().links().size());
    const int other = link.from == port ? link.to : link.from;
    const bool network = link.kind == LinkKind::kNetwork;
    prediction.from = is_link ? (arc % 2 == 0 ? link.from : link.to) : ((arc % 2 == 0) == network ? port : other);
  }
  return prediction;
}

}  // namespace

Prediction PredictRings(const Placement& placement, std::span<const RankRing> rings) {
  if (placement.ranks() == 1 || rings.empty()) return {};
  std::vector<double> loads(placement.arcs(), 0);
  const double part = 1.0 / static_cast<double>(rings.size());
  for (const RankRing& ring : rings) {
    for (std::size_t i = 0; i < ring.ranks.size(); ++i) {
      const int next = ring.ranks[(i + 1) % ring.ranks.size()];
      if (!placement.Charge(ring.ranks[i], next, ring.crossings[i], part, loads)) return {};
    }
  }
  return FindFullest(placement, loads);
}

Prediction PredictTrees(const Placement& placement, std::span<const RankTree> trees) {
  if (placement.ranks() == 1 || trees.empty()) return {};
  std::vector<double> loads(placement.arcs(), 0);
  const double ranks = placement.ranks();
  const double part = 1.0 / static_cast<double>(trees.size()) / (2 * (ranks - 1) / ranks);
  for (const RankTree& tree : trees) {
    for (std::size_t rank = 0; rank < tree.parents.size(); ++rank) {
      const int parent = tree.parents[rank];
      if (parent < 0) continue;
      const Crossing& up = tree.crossings[rank];
      const Crossing down{.out = up.in, .in = up.out};
      const bool there = placement.Charge(static_cast<int>(rank), parent, up, part, loads) &&
                         placement.Charge(parent, static_cast<int>(rank), down, part, loads);
      if (!there) return {};
    }
  }
  return FindFullest(placement, loads);
}

}  // namespace tutti::topo
