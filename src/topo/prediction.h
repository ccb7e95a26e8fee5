// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOPO_PREDICTION_H_
#define TUTTI_TOPO_PREDICTION_H_

// What large messages reach on given orders of ranks, if nothing but links limits them.

#include <span>

#include "topo/placement.h"
#include "topo/rank_orders.h"

namespace tutti::topo {

// The bus bandwidth of an all_reduce among n ranks: bytes of the message / time * 2 (n - 1) / n, which is what a ring sends.
struct Prediction {
  double gb_per_s = 0;  // 0: one rank, or data do not get there; infinite where no link limits it
  int link = -1;        // that is full then, of the graph; -1: none
  int from = -1;        // the node where data enter it
};

// Each ring has an equal part of the data, and sends 2 (n - 1) / n of that along each of its steps.
Prediction PredictRings(const Placement& placement, std::span<const RankRing> rings);
// Each tree has an equal part of the data, which goes up and comes down between a rank and its parent.
Prediction PredictTrees(const Placement& placement, std::span<const RankTree> trees);

}  // namespace tutti::topo

#endif  // TUTTI_TOPO_PREDICTION_H_
