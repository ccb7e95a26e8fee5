// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_PLAN_SEATS_H_
#define TUTTI_PLAN_SEATS_H_

#include <span>
#include <vector>

#include "plan/plan.h"

namespace tutti::plan {

// Small numbers for ranks, their seats, by which an executor that knows few peers can name all that a rank meets: a rank and
// all its peers in these plans have different seats, wherever one looks from. So a seat means a rank only where it is known
// whose peer it is. By rank; the seats in use are 0, 1, 2, ... without a gap, few more than a rank has peers where the links
// are a tree or a ring.
//
// `plans`: every rank's, in rank order.
std::vector<int> SeatRanks(std::span<const RankPlan> plans);

}  // namespace tutti::plan

#endif  // TUTTI_PLAN_SEATS_H_
