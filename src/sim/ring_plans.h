// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SIM_RING_PLANS_H_
#define TUTTI_SIM_RING_PLANS_H_

#include <cstddef>
#include <vector>

#include "sim/plans.h"
#include "topo/rank_orders.h"

namespace tutti::sim {

// Rings that a search has found, one for each channel, over the ports that it has chosen: all_reduce, all_gather or reduce_scatter.
// REQUIRES: each has every rank of the communicator once, by its number there.
class RingPlans : public PlanSource {
 public:
  RingPlans(Collective collective, std::vector<topo::RankRing> rings);
  int rings() const { return static_cast<int>(rings_.size()); }
  plan::RankPlan Build(int position, int channel) const override;
  int RankAt(int position, int channel) const override;
  int PositionOf(int rank, int channel) const override;
  Ports PortsOf(int from, int to, int channel) const override;
  int Period(int /*channel*/) const override { return 1; }

 private:
  const topo::RankRing& RingOf(int channel) const { return rings_[static_cast<std::size_t>(channel) % rings_.size()]; }
  Collective collective_;
  std::vector<topo::RankRing> rings_;
  std::vector<std::vector<int>> positions_;  // by ring and rank
};

}  // namespace tutti::sim

#endif  // TUTTI_SIM_RING_PLANS_H_
