// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_RING_ORDER_H_
#define TUTTI_COMM_GPU_RING_ORDER_H_

#include <span>
#include <vector>

#include "plan/plan.h"

namespace tutti::comm {

// The plans of ranks that stand in another order than that of their numbers. `plans`: of a collective, by position; `ring`: by
// position, the rank that stands there. Returned by rank. Whom a rank sends to and receives from, the root, and whose piece a block
// belongs to go by ranks then; what is folded in which order stays as it was by position. REQUIRES: every rank is in `ring` once, and
// the plans are of equal blocks.
std::vector<plan::RankPlan> InOrder(std::span<const plan::RankPlan> plans, std::span<const int> ring);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_RING_ORDER_H_
